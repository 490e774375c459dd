"""Libraries that call a service which is not a model: databases, caches, brokers, mail, other machines.

Their failures have codes, time-outs and refused logins as those of a model's provider have. The library tells them
apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_PACKAGES: Final = frozenset(
    {
        # databases
        "psycopg", "psycopg_pool", "psycopg2", "asyncpg", "pg8000", "aiopg", "sqlite3", "aiosqlite", "apsw",
        "sqlcipher3", "sqlalchemy", "sqlmodel", "peewee", "tortoise", "django", "edgedb", "gel", "pymysql", "MySQLdb",
        "aiomysql", "asyncmy", "mysql", "mariadb", "oracledb", "cx_Oracle", "pyodbc", "aioodbc", "pymssql", "duckdb",
        "snowflake", "clickhouse_driver", "clickhouse_connect", "trino", "pyhive", "databricks", "ibm_db_dbi", "libsql",
        "turso", "pymongo", "motor", "mongoengine", "beanie", "cassandra", "couchbase", "neo4j", "arango",
        "influxdb_client", "elasticsearch", "elastic_transport", "opensearchpy", "pysolr", "meilisearch", "typesense",
        "qdrant_client", "weaviate", "chromadb", "pinecone", "pymilvus", "lancedb",
        # caches, queues, brokers
        "redis", "valkey", "glide", "coredis", "pymemcache", "aiomcache", "etcd3", "kazoo", "kafka", "aiokafka",
        "confluent_kafka", "pika", "aio_pika", "aiormq", "amqp", "kombu", "celery", "dramatiq", "rq", "nats", "stomp",
        "zmq", "dbos", "procrastinate", "temporalio",
        # mail, files, other machines
        "smtplib", "aiosmtplib", "imaplib", "poplib", "ftplib", "ldap3", "ldap", "paramiko", "asyncssh", "smbprotocol",
    }
)  # fmt: skip
_DB_API: Final = frozenset(
    {"DatabaseError", "InterfaceError", "OperationalError", "ProgrammingError", "IntegrityError"}
)
"""PEP 249: every Python client of a relational database has these classes. `DataError` and `InternalError` are
ancestors of nothing else, so a class of such a client has one of the others above it.
"""


def is_of_another_service(names: Iterable[str]) -> bool:
    """Whether an exception comes from a client of something that is not a model.

    Args:
        names: Names of its class and of the classes above it, bare or with the module.
    """
    return any(name in _DB_API or name.partition(".")[0] in _PACKAGES for name in names)
