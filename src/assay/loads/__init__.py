"""Front ends: each reads one syntax and makes a Plan."""
