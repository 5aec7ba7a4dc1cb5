"""The settings of the server, declared once: options, environment variables and help."""

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from dmlviz.errors import UserError

if TYPE_CHECKING:
    from dmlviz_app.people.identity import AccessSettings

MIN_TOKEN_LENGTH = 16
ANY_ADDRESS = ("0.0.0.0", "::", "")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]
_BASE_PATH = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
_HOST_NAME = re.compile(r"\*|(\*\.)?[A-Za-z0-9.-]+|\[?[0-9A-Fa-f:.]+\]?")
_ORIGIN = re.compile(r"https?://(\*\.)?[A-Za-z0-9.-]+(:[0-9]{1,5})?")
_TOKEN = re.compile(r"[A-Za-z0-9._~-]+")
# Compose files give DMLVIZ_HOST to the proxy; Kubernetes sets DMLVIZ_PORT itself beside a service named dmlviz.
_WITHOUT_VARIABLE = ("host", "port", "slots", "browser")


def _setting(default: Any, description: str, *, metavar: str = "", option: str = "", **more: Any) -> Any:
    return Field(default, description=description, json_schema_extra={"metavar": metavar, "option": option}, **more)


def _runs_folder(folder: str | Path | None = None) -> Path:
    from dmlviz.runs.store import runs_folder

    return runs_folder(folder)


def _gigabytes(value: Any) -> float:
    from dmlviz.runs.quota import GB, parse_limit

    return parse_limit(value) / GB


def _words(value: Any) -> Any:
    return value.split() if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_words)]


class _Variables(EnvSettingsSource):
    """The environment, for the settings that have a variable."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Return the value of a setting's variable, its name, and whether it is JSON."""
        if field_name in _WITHOUT_VARIABLE:
            return None, field_name, False
        return super().get_field_value(field, field_name)


class Settings(BaseSettings):
    """Settings of the server: an option, else the environment variable, else the default."""

    model_config = SettingsConfigDict(
        env_prefix="DMLVIZ_", env_ignore_empty=True, enable_decoding=False, frozen=True, validate_by_name=True
    )

    host: str = _setting("127.0.0.1", "address to listen on; 0.0.0.0 for all interfaces", metavar="ADDRESS")
    port: int = _setting(8501, "port to listen on; 0 = any free port", ge=0, le=65535)
    data: Path | None = _setting(None, "data folder (default: in the user's data folder)", metavar="FOLDER")
    runs: Annotated[Path, BeforeValidator(_runs_folder)] = Field(
        default_factory=_runs_folder,
        description="runs folder (default: in the user's data folder)",
        json_schema_extra={"metavar": "FOLDER"},
    )
    disk_limit: Annotated[float, BeforeValidator(_gigabytes)] = _setting(
        5.0, "disk quota; people beyond their room, then guests, then the oldest make room", metavar="GB"
    )
    slots: int | None = _setting(
        None, "trainings at a time on this machine (default: the cores less one)", ge=0, le=256
    )
    fleet: str | None = _setting(
        None, "train first on the machines at tls://HOST:PORT, or file:PATH of a scheduler file", metavar="ADDRESS"
    )
    certificates: Path | None = _setting(
        None, "folder of the fleet's certificates (default: in the user's settings)", metavar="FOLDER"
    )
    forwarded_allow_ips: str = _setting(
        "",
        "proxies that alone are believed their X-Forwarded-Proto and X-Forwarded-For, separated by commas; * for all",
        metavar="ADDRESSES",
        validation_alias="FORWARDED_ALLOW_IPS",  # uvicorn's name
    )
    browser: bool = _setting(True, "open a browser")
    base_path: str = _setting("", "path before every address, /x/y, unless the proxy cuts it off", metavar="PATH")
    allowed_hosts: Words = _setting(
        (),
        "name by which the server may be asked besides localhost; * for any (default: any, but on loopback)",
        metavar="NAME",
        option="--allowed-host",
    )
    embed: Words = _setting(
        (), "site that may show the app in a frame, such as https://school.example", metavar="ORIGIN"
    )
    no_token: bool = _setting(False, "let in all who reach the server", option="--no-token")
    token: str | None = _setting(
        None,
        "access token of members, which a browser must know, at least 16 characters "
        "(default: a new one at each start; none on loopback)",
        metavar="TEXT",
    )
    teacher_token: str | None = _setting(None, "the same for teachers", metavar="TEXT")
    guest_token: str | None = _setting(None, "the same for guests", metavar="TEXT")
    shared: bool | None = _setting(
        None,
        "each browser has its own runs and data; the default if others can reach the address",
        option="--shared/--not-shared",
    )
    people: Path | None = _setting(None, "roles and limits of people, as TOML (`dmlviz docs PEOPLE`)", metavar="FILE")
    user_header: str = _setting(
        "",
        "header in which the proxy names the person, e.g. X-Forwarded-User; needs --forwarded-allow-ips",
        metavar="NAME",
    )
    log_format: LogFormat = _setting("text", "form of the log: key=value, or one JSON object a line", metavar="FORMAT")
    log_level: LogLevel = _setting("info", "least important messages that are logged", metavar="LEVEL")
    metrics_token: str | None = _setting(
        None,
        "token that a program must send to read the metrics (default: only this machine may read them)",
        metavar="TEXT",
    )

    def __init__(self, /, **options: Any) -> None:
        """Validate the settings; raise UserError, with one sentence per problem, instead of pydantic's error."""
        try:
            super().__init__(**options)
        except ValidationError as error:
            from dmlviz.config.base import user_error

            raise user_error(type(self), error) from None

    @classmethod
    def settings_customise_sources(
        cls, settings_cls: type[BaseSettings], init_settings: PydanticBaseSettingsSource, *_: Any, **__: Any
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put options before the environment."""
        return init_settings, _Variables(settings_cls)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some settings changed."""
        return type(self)(**self.model_dump() | changes)

    @cached_property
    def access(self) -> "AccessSettings":
        """Return the identification of people; raise UserError if settings contradict each other."""
        from dmlviz_app.people.identity import access_settings
        from dmlviz_app.people.policy import Role

        return access_settings(
            shared=self.shared,
            people=self.people,
            user_header=self.user_header,
            proxies=self.forwarded_allow_ips,
            reachable=self.host not in LOOPBACK,
            tokens={Role.TEACHER: self.teacher_token, Role.MEMBER: self.token, Role.GUEST: self.guest_token},
        )

    def link(self, port: int, host: str | None = None, role: str = "member") -> str:
        """Return the address to open in a browser, with a token.

        Args:
            port: The port on which the server listens.
            host: Another name or address of this machine; by default the one on which the server listens.
            role: Whose token; the only person of a server has that of a member.
        """
        from dmlviz_app.people.policy import ROLES

        host = host or ("localhost" if self.host in ANY_ADDRESS else self.host)
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}{self.base_path}"
        token = self.access.tokens.tokens.get(ROLES[role])
        return f"{address}/?token={token}" if token else address

    @field_validator("base_path")
    @classmethod
    def _one_way(cls, value: str) -> str:
        path = "/" + value.strip("/") if value.strip("/") else ""
        if not _BASE_PATH.fullmatch(path):
            raise UserError(
                f"A base path has letters, digits and . _ ~ - between slashes; got {value[:80]!r}. "
                "Give it as in --base-path /x/y."
            )
        return path

    @field_validator("allowed_hosts")
    @classmethod
    def _names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not _HOST_NAME.fullmatch(name):
                raise UserError(
                    f"An allowed host is a name without scheme and port; got {name[:80]!r}. "
                    "Give it as in --allowed-host school.example, or *.school.example for all below it."
                )
        return names

    @field_validator("embed")
    @classmethod
    def _origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        for origin in origins:
            if not _ORIGIN.fullmatch(origin):
                raise UserError(
                    f"A site that may embed the app is an origin: scheme, name, perhaps a port; got {origin[:80]!r}. "
                    "Give it as in --embed https://school.example."
                )
        return origins

    @field_validator("token", "teacher_token", "guest_token", "metrics_token")
    @classmethod
    def _not_guessed(cls, token: str | None, info: ValidationInfo) -> str | None:
        if not token or (info.field_name != "metrics_token" and info.data.get("no_token")):
            return None
        if len(token) < MIN_TOKEN_LENGTH or not _TOKEN.fullmatch(token):
            what, remedy = "A token", "Leave it out to have one made."
            if info.field_name == "metrics_token":
                what, remedy = "A metrics token", "`openssl rand -hex 16` makes one."
            raise UserError(
                f"{what} has at least {MIN_TOKEN_LENGTH} letters, digits or . _ ~ -, so that it cannot be guessed; "
                f"got {len(token)} characters. {remedy}"
            )
        return token

    @field_validator("log_format", "log_level", mode="before")
    @classmethod
    def _check_choice(cls, value: Any, info: ValidationInfo) -> Any:
        name = str(info.field_name)
        choices = get_args(cls.model_fields[name].annotation)
        if value not in choices:
            raise UserError(f"The {name.replace('_', ' ')} is one of {', '.join(choices)}; got {str(value)[:40]!r}.")
        return value


def variable(name: str) -> str | None:
    """Return the environment variable of a setting; None if it has none."""
    alias = Settings.model_fields[name].validation_alias
    return None if name in _WITHOUT_VARIABLE else str(alias or f"DMLVIZ_{name.upper()}")
