/**
 * Seals headers of webhook steps that an older version of the service has stored: during an upgrade its processes still
 * write some. What clients see stays the same, so revisions do not change.
 */
import type pg from 'pg';
import type { BrandScope } from '../../platform/db/model.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createFlowDraftForm } from './draft-form.ts';
import { sealHeaders } from './header-secrets.ts';
import { lockFlow } from './model.ts';
import type { Step } from './steps/index.ts';
import { fromStored, toStored } from './steps/secret-headers.ts';

/** These values are stored already. */
const NO_LIMIT = Infinity;

/** SQL: the condition of the indexes of rows with plain headers. */
const plain = (table: string) => `
  jsonb_path_exists(${table}.steps, '$.** ? (@.type == "webhook" && exists(@.headers.*))')
  and flow_steps_match(${table}.steps, '$ ? (@.type == "webhook" && exists(@.headers.*))')`;

interface SealingDeps {
  pool: pg.Pool;
  keyring: Keyring;
  pulse: Pulse;
}

async function sealSteps(trx: Queryable, keyring: Keyring, scope: BrandScope, steps: readonly Step[]) {
  return JSON.stringify(toStored(await sealHeaders(trx, keyring, scope, fromStored(steps), NO_LIMIT)));
}

/** Seals the headers of a flow and of its versions. @returns the number of rows changed */
async function sealFlow(trx: Queryable, keyring: Keyring, id: number): Promise<number> {
  const row = await lockFlow(trx, id);
  if (!row) return 0;
  const scope = { accountId: row.account_id, brandId: row.brand_id };
  const flow = await trx.query(
    `update flows f set steps = $2 where id = $1 and steps <> $2 and ${plain('f')}`,
    [id, await sealSteps(trx, keyring, scope, row.steps)],
  );
  const { rows: versions } = await trx.query<{ id: number; steps: Step[] }>(
    `select v.id, v.steps from flow_versions v where v.flow_id = $1 and ${plain('v')} order by v.id`,
    [id],
  );
  let changed = flow.rowCount ?? 0;
  for (const version of versions) {
    const values = [version.id, await sealSteps(trx, keyring, scope, version.steps)];
    const written = await trx.query(
      'update flow_versions set steps = $2 where id = $1 and steps <> $2',
      values,
    );
    changed += written.rowCount ?? 0;
  }
  return changed;
}

/** @returns the number of drafts changed */
async function sealDraft(trx: Queryable, keyring: Keyring, id: number): Promise<number> {
  type Contents = { content: Record<string, unknown>; base_content: Record<string, unknown> | null };
  const { rows } = await trx.query<Contents & { account_id: number; brand_id: number }>(
    'select account_id, brand_id, content, base_content from drafts where id = $1 for no key update',
    [id],
  );
  const [row] = rows;
  if (!row) return 0;
  const scope = { accountId: row.account_id, brandId: row.brand_id };
  const form = createFlowDraftForm(keyring, NO_LIMIT);
  const content = await form.store(trx, scope, row.content);
  const base = row.base_content && (await form.store(trx, scope, row.base_content));
  const values = [id, JSON.stringify(content), base && JSON.stringify(base)];
  await trx.query(
    'update drafts set content = $2, base_content = $3, sealed_revision = revision where id = $1',
    values,
  );
  return 1;
}

/** SQL: the first id after `$1` for which there is something to seal. */
const NEXT_FLOW = `
  select min(id) as id from (
    (select f.id from flows f where f.id > $1 and ${plain('f')} order by f.id limit 1)
    union all
    (select v.flow_id from flow_versions v where v.flow_id > $1 and ${plain('v')} order by v.flow_id limit 1)) next`;
const NEXT_DRAFT = `
  select min(id) as id from drafts where id > $1 and flow_id is not null and sealed_revision is distinct from revision`;

/** Seals all headers that are not sealed yet. @returns the number of rows changed */
export async function sealPlainHeaders(pool: pg.Pool, keyring: Keyring): Promise<number> {
  let total = 0;
  for (const [next, seal] of [
    [NEXT_FLOW, sealFlow],
    [NEXT_DRAFT, sealDraft],
  ] as const) {
    for (let after = 0; ;) {
      const { rows } = await pool.query<{ id: number | null }>(next, [after]);
      const id = rows[0]?.id ?? null;
      if (id === null) break;
      total += await inTransaction(pool, (trx) => seal(trx, keyring, id));
      after = id;
    }
  }
  return total;
}

/** Time between two rounds, in ms. */
const REST_MS = 600_000;

/**
 * Seals plain headers every ten minutes, at first ten minutes after the start: the API is replaced after the workers,
 * and until then it shows clients the type of sealed steps, which it does not know.
 */
export function startHeaderSealing({ pool, keyring, pulse }: SealingDeps): Repeating {
  const waiting = `exists (select from flows f where ${plain('f')}) or exists (select from flow_versions v where ${plain('v')})
    or exists (select from drafts where flow_id is not null and sealed_revision is distinct from revision)`;
  let isFirst = true;
  const round = async () => {
    if (!isFirst) await sealPlainHeaders(pool, keyring);
    isFirst = false;
    return false;
  };
  return pulse.repeat({ name: 'sealing headers of webhook steps', waiting }, round, REST_MS);
}
