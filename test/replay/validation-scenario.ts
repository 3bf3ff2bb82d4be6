import { validationStart } from '../../src/features/validation/workflow.ts';
import type { ValidationState } from '../../workflows/validation/contract.ts';
import { createTestTenant } from '../support/api.ts';
import { insertContacts } from '../support/contacts.ts';
import { until } from '../workflows/until.ts';
import type { Stage } from './scenarios.ts';

/** Another of the account runs at first; a mail server asks for another attempt. */
export async function validation({ client, database }: Stage): Promise<string> {
  const { pool } = database;
  const { accountId, brandId } = await createTestTenant(database, 'Validated');
  const [contact = 0] = await insertContacts(pool, { accountId, brandId }, 1, 'validated');
  const insert = async (status: string) => {
    const { rows } = await pool.query<{ id: number }>(
      `insert into validation_operations (account_id, brand_id, status, audience_kind, audience_ids,
         audience_digest, max_contact_id, candidate_count, chargeable_count)
       values ($1, $2, $3, 'contact_ids', $4, '', $5, 1, 1) returning id`,
      [accountId, brandId, status, [contact], contact],
    );
    return rows[0]?.id ?? 0;
  };
  const other = await insert('running');
  const id = await insert('pending');
  const start = validationStart({ id, accountId, brandId });
  const handle = await client.workflow.start(start.workflowType, {
    workflowId: start.workflowId,
    taskQueue: 'orchestration',
    args: start.input ?? [],
  });
  const isIn = (phase: string) =>
    until(async () => (await handle.query<ValidationState>('state')).phase === phase, 30_000);
  await isIn('waiting');
  await until(async () => (await handle.describe()).historyLength >= 8, 30_000);
  await pool.query(
    `insert into validation_items (operation_id, contact_id, email, email_key, chargeable, retry_at)
     select $1, id, email, email_key, true, now() + interval '5 seconds' from contacts where id = $2`,
    [id, contact],
  );
  await pool.query(`update validation_operations set snapshot_complete = true where id = $1`, [id]);
  await pool.query(`update validation_operations set status = 'canceled' where id = $1`, [other]);
  await handle.signal('wake');
  await isIn('retrying');
  await handle.result();
  return start.workflowId;
}
