/** How much an account may store in templates. */
import type { AccountBound } from '../../platform/db/account-bound.ts';

const ofAccount = 'r.account_id = $1 and r.removed_at is null';
/** Those of sent campaigns and archived flows do not count, because they cannot be deleted. */
export const TEMPLATES_BOUND: AccountBound = {
  ...{ table: 'templates', where: 'r.removed_at is null', columns: ['body', 'design', 'variables'] },
  counted: [
    `templates r where ${ofAccount} and r.campaign_id is null and r.flow_id is null`,
    `campaigns c join templates r on r.campaign_id = c.id
     where c.account_id = $1 and c.removed_at is null and c.status = 'draft' and ${ofAccount}`,
    `flows f join templates r on r.flow_id = f.id where f.account_id = $1 and f.status <> 'archived' and ${ofAccount}`,
  ],
  ...{ maxRows: 100_000, maxBytes: 4 * 1024 ** 3 },
};
