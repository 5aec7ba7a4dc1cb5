"""The fleet's own certificates: a machine that has them belongs to the fleet; no other can listen or join."""

import datetime
import os
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_config_path

from dmlviz.errors import UserError
from dmlviz.fleet import FleetError
from dmlviz.storage.files import ensure_dir

if TYPE_CHECKING:
    from distributed.security import Security

CA, OWN = "ca.pem", "fleet.pem"
VALID_DAYS = 5 * 365
AUTHORITY = "dmlviz fleet authority"


def certificates_folder(folder: Path | None = None) -> Path:
    """Return the folder of the certificates: `folder`, else $DMLVIZ_CERTIFICATES, else one in the user's settings."""
    name = folder or os.environ.get("DMLVIZ_CERTIFICATES")
    return Path(name).expanduser() if name else user_config_path("dmlviz", appauthor=False) / "fleet"


def make_certificates(folder: Path) -> list[Path]:
    """Write a new authority and one certificate signed by it, both needed by every machine of the fleet.

    The key of the authority is not kept: to shut a machine out, make new certificates and give them to the others.

    Args:
        folder: Target folder; created if it is missing.

    Returns:
        The files.

    Raises:
        UserError: If there are certificates in the folder already.
    """
    from dmlviz.fleet import import_extra

    import_extra("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    for name in (CA, OWN):
        if (folder / name).exists():
            raise UserError(f"{folder / name} exists; choose another folder, or delete it first.")
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)  # clocks may differ
    end = start + datetime.timedelta(days=VALID_DAYS)

    def certificate(name: str, key: ec.EllipticCurvePrivateKey, authority: bool) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, AUTHORITY)]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(start)
            .not_valid_after(end)
            .add_extension(x509.BasicConstraints(ca=authority, path_length=0 if authority else None), critical=True)
        )

    ca_key, own_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = certificate(AUTHORITY, ca_key, authority=True).sign(ca_key, hashes.SHA256())
    own = certificate("dmlviz fleet", own_key, authority=False).sign(ca_key, hashes.SHA256())
    pem = serialization.Encoding.PEM
    own_key_pem = own_key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    ensure_dir(folder).chmod(0o700)
    paths = [folder / CA, folder / OWN]
    for path, content in zip(paths, (ca.public_bytes(pem), own_key_pem + own.public_bytes(pem)), strict=True):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
    return paths


def load_security(folder: Path | None = None) -> "Security":
    """Return what Dask needs to talk to the fleet, encrypted both ways.

    Raises:
        FleetError: If the certificates are missing or cannot be read.
    """
    from dmlviz.fleet import import_extra

    import_extra("distributed")
    from distributed.security import Security

    where = certificates_folder(folder)
    ca, own = str(where / CA), str(where / OWN)
    for path in (ca, own):
        if not Path(path).is_file():
            raise FleetError(
                f"There are no certificates in {where}: make them with `dmlviz fleet certificates {where}`, "
                "or copy the folder from the server."
            )
    roles = ("client", "worker", "scheduler")
    paths = {f"tls_{role}_{part}": own for role in roles for part in ("cert", "key")}
    security = Security(tls_ca_file=ca, require_encryption=True, **paths)
    try:
        security.get_connection_args("client")
    except OSError as error:  # ssl.SSLError too
        raise FleetError(f"The certificates in {where} cannot be read ({error}); copy the folder again.") from None
    return security
