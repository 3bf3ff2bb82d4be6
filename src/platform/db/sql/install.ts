import pg from 'pg';
import { ConfigError } from '../../../config.ts';
import { losesRowsOfKeptPlans } from '../plans.ts';
import type { Queryable } from '../queryable.ts';
import { PARTITIONS, readHeader } from './header.ts';
import { type DatabaseFunction, productFunctions } from './names.ts';

/** An arbitrary fixed number: processes that migrate at the same time wait for each other. */
export const MIGRATION_LOCK = 7_262_514_117;

/** PostgreSQL's code of a statement that needs the owner of a function, or a right. */
const INSUFFICIENT_PRIVILEGE = '42501';

const PLANS_EACH_CALL = 'plan_cache_mode=force_custom_plan';

/** How a function differs from what it should be. */
interface Difference {
  function: DatabaseFunction;
  /** `missing`; or it keeps plans on a server that loses rows of them; or it does not, on another server. */
  fault: 'missing' | 'keeps plans' | 'keeps no plans';
}

const changesPartitions = ({ text }: DatabaseFunction) => readHeader(text).labelled.has(PARTITIONS);

/** @param serverVersion by default what the server reports */
async function differences(
  db: Queryable,
  functions: readonly DatabaseFunction[],
  serverVersion?: string,
): Promise<Difference[]> {
  const { rows } = await db.query<{ version: string; found: Record<string, string[] | null> | null }>(
    `select current_setting('server_version') as version, (
       select jsonb_object_agg(proname, to_jsonb(proconfig)) from pg_proc
       where proname = any($1) and pg_function_is_visible(oid)) as found`,
    [functions.map(({ name }) => name)],
  );
  const [{ version, found }] = rows as [(typeof rows)[number]];
  const losesRows = losesRowsOfKeptPlans(serverVersion ?? version);
  return functions.flatMap((each): Difference[] => {
    const settings = found?.[each.name];
    if (settings === undefined) return [{ function: each, fault: 'missing' }];
    const [is, should] = [settings?.includes(PLANS_EACH_CALL) ?? false, losesRows && changesPartitions(each)];
    if (is === should) return [];
    return [{ function: each, fault: should ? 'keeps plans' : 'keeps no plans' }];
  });
}

const planningSql = ({ function: { name }, fault }: Difference) =>
  fault === 'keeps plans'
    ? `alter function ${name} set plan_cache_mode = force_custom_plan`
    : `alter function ${name} reset plan_cache_mode`;

const namesOf = (found: readonly Difference[]) => found.map(({ function: { name } }) => name);

/**
 * Creates the functions that are missing, and corrects how the others are planned. Call it in a transaction.
 * @param serverVersion by default what the server reports
 * @returns the names of the functions that were missing
 */
export async function createFunctions(
  db: Queryable,
  functions: readonly DatabaseFunction[],
  serverVersion?: string,
): Promise<string[]> {
  const missing = (await differences(db, functions, serverVersion)).filter(
    ({ fault }) => fault === 'missing',
  );
  for (const { function: each } of missing) {
    await db.query(each.text);
    await db.query(`comment on function ${each.name} is ${pg.escapeLiteral(readHeader(each.text).does)}`);
  }
  for (const difference of await differences(db, functions, serverVersion)) {
    await db.query(planningSql(difference));
  }
  return namesOf(missing);
}

/**
 * Notes that this set of functions is the newest. Functions that the two sets before need are kept: if the deploy of a
 * version has failed and is followed by another, processes of the version before it are still running.
 * @returns the functions of which two newer sets had no more need before this one
 */
async function recordSet(db: Queryable, names: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ name: string; last_set: number }>(
    'select name, last_set from installed_functions',
  );
  const newest = Math.max(0, ...rows.map((row) => row.last_set));
  const before = rows.filter((row) => row.last_set === newest).map(({ name }) => name);
  const isSame = before.length === names.length && before.every((name) => names.includes(name));
  const current = isSame ? newest : newest + 1;
  await db.query(
    `insert into installed_functions (name, last_set) select unnest($1::text[]), $2
     on conflict (name) do update set last_set = excluded.last_set
       where installed_functions.last_set <> excluded.last_set`,
    [names, current],
  );
  const superseded = await db.query<{ name: string }>(
    'delete from installed_functions where last_set < $1 - 2 returning name',
    [current],
  );
  return superseded.rows.map(({ name }) => name);
}

/**
 * Installs the functions of this version, and drops those that two newer versions before it have not needed: processes
 * of older versions run beside this one. Call it in a transaction, after the migrations.
 * @param serverVersion by default what the server reports
 * @returns the names of the functions that were missing
 */
export async function installFunctions(
  db: Queryable,
  functions: readonly DatabaseFunction[] = productFunctions().all,
  serverVersion?: string,
): Promise<string[]> {
  const created = await createFunctions(db, functions, serverVersion);
  const superseded = await recordSet(
    db,
    functions.map(({ name }) => name),
  );
  for (const name of superseded) await db.query(`drop function if exists ${name}`);
  return created;
}

/** Returns the names of this version's functions that are not installed as the server needs them, for `/readyz`. */
export async function missingFunctions(db: Queryable): Promise<string[]> {
  const found = await differences(db, productFunctions().all);
  return namesOf(found.filter(({ fault }) => fault !== 'keeps no plans'));
}

/** Functions that the role of a connection cannot call. */
interface Uncallable {
  role: string;
  database: string;
  missing: string[];
  forbidden: string[];
}

/**
 * Checks that this role can call all functions of this version.
 * @throws ConfigError if some are not installed where it looks for them, or if it may not execute them
 */
export async function checkCallable(
  db: Queryable,
  functions: readonly DatabaseFunction[] = productFunctions().all,
): Promise<void> {
  const { rows } = await db.query<Uncallable>(
    `with found as (
       select oid, proname::text as name from pg_proc where proname = any($1) and pg_function_is_visible(oid)
     ) select current_user::text as role, current_database()::text as database,
       array(select unnest($1::text[]) except select name from found order by 1) as missing,
       array(select name from found where not has_function_privilege(oid, 'execute') order by 1) as forbidden`,
    [functions.map(({ name }) => name)],
  );
  const [{ role, database, missing, forbidden }] = rows as [Uncallable];
  if (missing.length > 0) {
    throw new ConfigError(
      `the role ${role} does not find functions of this version in the database ${database}, so run carillon migrate of this version there: ${missing.join(', ')}`,
    );
  }
  if (forbidden.length > 0) {
    throw new ConfigError(
      `the role ${role} may not execute functions in the database ${database}, so grant it execute on them, or run it as their owner: ${forbidden.join(', ')}`,
    );
  }
}

/**
 * Corrects how the installed functions are planned: the server may have been upgraded since they were installed. Missing
 * functions are left to `migrate`.
 * @param serverVersion by default what the server reports
 * @returns the names of functions that are only slow, because another role owns them
 * @throws ConfigError if functions that another role owns may lose rows
 */
export async function correctPlanning(
  db: Queryable,
  functions: readonly DatabaseFunction[] = productFunctions().all,
  serverVersion?: string,
): Promise<string[]> {
  const found = await differences(db, functions, serverVersion);
  const wrong = found.filter(({ fault }) => fault !== 'missing');
  if (wrong.length === 0) return [];
  // Processes that start at the same time must not change a function at the same time.
  const statements = wrong.map((each) => `${planningSql(each)};`).join(' ');
  try {
    await db.query(`do $$ begin perform pg_advisory_xact_lock(${MIGRATION_LOCK}); ${statements} end $$`);
    return [];
  } catch (error) {
    if ((error as { code?: string }).code !== INSUFFICIENT_PRIVILEGE) throw error;
    const names = namesOf(wrong);
    if (wrong.every(({ fault }) => fault === 'keeps no plans')) return names;
    throw new ConfigError(
      `PostgreSQL 18 and later may lose rows when functions reuse plans: run carillon migrate as the owner of ${names.join(', ')}`,
      { cause: error },
    );
  }
}
