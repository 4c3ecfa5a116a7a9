"""What Dask gets of the key: paths alone, never the key itself, and that nothing goes without encryption."""

from pathlib import Path

from assay.cluster.dask_parts import Security
from assay.cluster.join_file import JoinFile
from assay.errors import InputError


def _security(**settings: object) -> Security:
    return Security(**settings)  # type: ignore[no-untyped-call]  # Dask's


def security_by(certificate: Path, key: Path) -> Security:
    """Have both sides show this certificate, and take no other; raises InputError where the files hold none."""
    pair = {"cert": str(certificate), "key": str(key)}
    roles = {f"tls_{role}_{part}": path for role in ("scheduler", "worker", "client") for part, path in pair.items()}
    security = _security(require_encryption=True, tls_ca_file=str(certificate), **roles)
    try:
        security.get_connection_args("worker")  # type: ignore[no-untyped-call]  # Dask's
    except OSError as error:  # that of ssl is one
        raise InputError(f"{certificate.parent}: holds no certificate with its key ({error})") from error
    return security


def open_security() -> Security:
    """Make the settings without encryption: for loopback alone, where `join_file.py` and `lead.py` allow it."""
    return _security(require_encryption=False)


def security_of(join: JoinFile, folder: Path) -> Security:
    """Give the security that a join folder asks for; raises InputError where its files hold none."""
    if join.certificate is None or join.key is None:
        return open_security()
    return security_by(folder / join.certificate, folder / join.key)
