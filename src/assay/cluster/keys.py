"""The key of one run: who has it belongs to the run, and nobody else can connect.

Leader and clients show each other the same certificate (mutual TLS 1.2 or newer), made for this run and trusted by nobody
else. There is no check of host names: having the key is the authorisation, and means that one can have the clients do
anything that their users can, as with a key of ssh. It is an elliptic one (P-256), because each client makes several
connections, and a handshake with it costs a fraction of one with RSA.
"""

import dataclasses
import datetime as dt

from assay.errors import RunError

_AROUND = dt.timedelta(days=3650)
"""A certificate is valid for this long before and after now: clocks may be far off, and its key is gone when the run is
over.
"""
_NAME = "assay-run"


@dataclasses.dataclass(frozen=True)
class RunKeys:
    """As PEM text."""

    certificate: bytes
    key: bytes = dataclasses.field(repr=False)


def make_keys() -> RunKeys:
    """Make a key and its certificate; raises RunError where `cryptography` is not installed."""
    try:
        from cryptography import x509  # noqa: PLC0415 - of the extra
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - same
        from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - same
        from cryptography.x509.oid import NameOID  # noqa: PLC0415 - same
    except ModuleNotFoundError as missing:
        raise RunError(
            f"the Python package '{missing.name}' is not installed; the key of a run of many clients needs it. Install it "
            "with: pip install 'assay[cluster]'"
        ) from missing
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, _NAME)])
    now = dt.datetime.now(tz=dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(_NAME)]), critical=False)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _AROUND)
        .not_valid_after(now + _AROUND)
        .sign(key, hashes.SHA256())
    )
    return RunKeys(
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )
