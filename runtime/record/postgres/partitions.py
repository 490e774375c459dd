"""How the events of a workspace are divided into partitions, so that those of old runs go as a whole.

Runs have numbers that rise as they are created (`run.rid`), and a partition holds the events of runs with numbers in a
row. The first one holds the stream of the workspace itself. The next one is made before it is needed, by a function of
the owner (`make_partitions`) that a worker may call. Where it is late, events go to the partition `event_default`: no
run fails for it. Only the owner writes a partition itself: other roles write the table `event`.
"""

from __future__ import annotations

from typing import LiteralString

DEFAULT_PARTITION_RUNS = 100_000
"""How many runs a partition is for, unless `database init` was told otherwise."""

_UNBOUND: LiteralString = "ALTER TABLE event DROP CONSTRAINT IF EXISTS event_first_runs"
# Above the numbers that an older program may give out until it is stopped. A new workspace has no runs: only its own
# stream is in the first partition.
_BIND: LiteralString = """
    DO $body$ BEGIN
        IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'event'::regclass AND conname = 'event_first_runs')
        THEN EXECUTE (SELECT format('ALTER TABLE event ADD CONSTRAINT event_first_runs CHECK (run < %s::bigint)
            NOT VALID', CASE max(rid) WHEN 1 THEN 2 ELSE max(rid) + 100000 END) FROM run);
        END IF;
    END $body$"""
_VALIDATE: LiteralString = "ALTER TABLE event VALIDATE CONSTRAINT event_first_runs"
_INDEXED: LiteralString = "event_with_blobs ON event (run) WHERE blobs IS NOT NULL"

PREPARATION: tuple[LiteralString, ...] = (
    _UNBOUND,
    _BIND,
    _VALIDATE,
    "DROP INDEX CONCURRENTLY IF EXISTS event_with_blobs",
    f"CREATE INDEX CONCURRENTLY {_INDEXED}",
)
"""What reads the whole of an older table `event`, one by one and outside of the migration's transaction: the events can
be read and written meanwhile. What an interruption left is made again.
"""

# Where each partition begins and ends, as the server has it. `filled`: it gets no more runs; `ahead`: none is in it.
_VIEW: LiteralString = r"""
    CREATE VIEW event_partition AS
    SELECT name, low, high, high <= newest + 1 AS filled, low > newest AS ahead FROM (
        SELECT relname AS name, coalesce(substring(bounds FROM 'FROM \(''?(\d+)')::bigint, 0) AS low,
        substring(bounds FROM 'TO \(''?(\d+)')::bigint AS high
        FROM (SELECT relname, pg_get_expr(relpartbound, oid) AS bounds FROM pg_class JOIN pg_inherits ON inhrelid = oid
            WHERE inhparent = 'event'::regclass) AS partition WHERE bounds <> 'DEFAULT') AS ranges,
        (SELECT greatest(max(rid), pg_sequence_last_value(pg_get_serial_sequence('run', 'rid')::regclass)) AS newest
            FROM run) AS given"""
# The trigger is for a role that may write a partition itself: one on `event` does not see that.
_ADD_PARTITION: LiteralString = """
    CREATE FUNCTION add_partition(name text, bounds text) RETURNS void LANGUAGE plpgsql AS $body$
    BEGIN
        EXECUTE format('CREATE TABLE %I (LIKE event INCLUDING ALL, UNIQUE (pos))', name);
        EXECUTE format('CREATE INDEX %I ON %I (run) WHERE blobs IS NOT NULL', name || '_with_blobs', name);
        EXECUTE format('CREATE TRIGGER refuse_forged_decisions AFTER INSERT ON %I REFERENCING NEW TABLE AS added
            FOR EACH STATEMENT EXECUTE FUNCTION refuse_forged_decisions()', name);
        EXECUTE format('ALTER TABLE event ATTACH PARTITION %I %s', name, bounds);
    END $body$"""
# It begins above every run that is in the default partition already: such a run stays there as a whole. It waits only
# for a moment for readers of the whole journal, since others would wait behind it.
_MAKE_PARTITIONS: LiteralString = """
    DO $outer$ BEGIN EXECUTE format($create$
        CREATE FUNCTION make_partitions() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = %I, pg_temp SET lock_timeout = '500ms' AS $body$
        DECLARE size bigint; next_run bigint; made integer := 0;
        BEGIN
            IF EXISTS (SELECT FROM event_partition WHERE ahead) THEN RETURN 0; END IF;
            SELECT runs INTO size FROM partitioning FOR UPDATE;
            WHILE NOT EXISTS (SELECT FROM event_partition WHERE ahead) LOOP
                LOCK TABLE ONLY event IN SHARE UPDATE EXCLUSIVE MODE;
                LOCK TABLE ONLY event_default IN ACCESS EXCLUSIVE MODE;
                SELECT greatest(max(high), (SELECT max(run) + 1 FROM event_default)) INTO next_run FROM event_partition;
                PERFORM add_partition('event_from_' || next_run,
                    format('FOR VALUES FROM (%%s) TO (%%s)', next_run, next_run + size));
                made := made + 1;
            END LOOP;
            RETURN made;
        END $body$ $create$, current_schema());
    END $outer$"""
# Who had rights on the table has them on the partitioned one, and on no partition.
_ATTACH_FIRST: LiteralString = r"""
    DO $body$ DECLARE granted record; BEGIN
        EXECUTE format('ALTER TABLE event ATTACH PARTITION event_from_1 FOR VALUES FROM (MINVALUE) TO (%s)',
            (SELECT substring(pg_get_constraintdef(oid) FROM '\d+') FROM pg_constraint
                WHERE conrelid = 'event_from_1'::regclass AND conname = 'event_first_runs'));
        FOR granted IN SELECT privilege_type AS what,
            CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS whom
            FROM pg_class, aclexplode(relacl) WHERE oid = 'event_from_1'::regclass AND grantee <> relowner
        LOOP
            EXECUTE format('GRANT %s ON event TO %s', granted.what, granted.whom);
            EXECUTE format('REVOKE %s ON event_from_1 FROM %s', granted.what, granted.whom);
            IF granted.what = 'INSERT' THEN
                EXECUTE format('GRANT EXECUTE ON FUNCTION make_partitions() TO %s', granted.whom);
            END IF;
        END LOOP;
    END $body$"""

MIGRATION: tuple[LiteralString, ...] = (
    # What the preparation has done; of a new workspace it is done here.
    _BIND,
    _VALIDATE,
    f"CREATE INDEX IF NOT EXISTS {_INDEXED}",
    "ALTER TABLE event RENAME TO event_from_1",
    "ALTER INDEX event_pkey RENAME TO event_from_1_pkey",
    "ALTER INDEX event_pos_key RENAME TO event_from_1_pos_key",
    "ALTER INDEX event_with_blobs RENAME TO event_from_1_with_blobs",
    # A unique index on `pos` would have to be one on `run` as well. The row `head` keeps positions apart, and the
    # index of each partition finds them.
    """CREATE TABLE event (
        run bigint NOT NULL, seq bigint NOT NULL, pos bigint NOT NULL, body text NOT NULL, blobs text,
        PRIMARY KEY (run, seq)) PARTITION BY RANGE (run)""",
    """CREATE TRIGGER refuse_forged_decisions AFTER INSERT ON event REFERENCING NEW TABLE AS added
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_forged_decisions()""",
    """CREATE TABLE partitioning (
        one boolean PRIMARY KEY DEFAULT true CHECK (one), runs bigint NOT NULL CHECK (runs > 0))""",
    f"INSERT INTO partitioning (runs) VALUES ({DEFAULT_PARTITION_RUNS})",  # noqa: S608 - a constant
    _VIEW,
    _ADD_PARTITION,
    _MAKE_PARTITIONS,
    "REVOKE EXECUTE ON FUNCTION add_partition(text, text), make_partitions() FROM PUBLIC",
    _ATTACH_FIRST,
    "ALTER TABLE event_from_1 DROP CONSTRAINT event_first_runs",
    "SELECT add_partition('event_default', 'DEFAULT')",
)
"""From a plain table `event` to a partitioned one, whose first partition it becomes."""
FIRST_SCHEMA = 5
"""The version of the schema from which on there are partitions."""

SET_SIZE: LiteralString = "UPDATE partitioning SET runs = %s"
MAKE_PARTITIONS: LiteralString = "SELECT make_partitions()"
