import { fn, type ModelObject, raw } from 'objection';
import type { Role } from '../../platform/auth/tenant.ts';
import { type AccountScope, TenantModel } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';

/** How long an invitation can be accepted. */
export const INVITATION_DAYS = 7;

export class InvitationModel extends TenantModel {
  static override readonly tableName = 'invitations';
  static override readonly columns = [
    'id',
    'account_id',
    'email',
    'email_key',
    'role',
    'invited_by',
    'mail_count',
    'expires_at',
    'created_at',
  ];
  declare account_id: number;
  declare email: string;
  declare email_key: string;
  declare role: Role;
  declare invited_by: number | null;
  declare mail_count: number;
  declare token_digest: Buffer | null;
  declare revoked_at: Date | null;
  declare expires_at: Date;
  declare created_at: Date;
}
export type InvitationRow = Omit<ModelObject<InvitationModel>, 'token_digest' | 'revoked_at'>;

const COLUMNS = InvitationModel.columns.map((name) => `i.${name}`).join(', ');
/** SQL: neither accepted nor revoked; it may have expired. */
const PENDING = 'i.accepted_at is null and i.revoked_at is null';
const ACCEPTABLE = `${PENDING} and i.expires_at > now()`;

/** When an invitation that is sent now expires. */
const expiry = () => raw(`now() + interval '${INVITATION_DAYS} days'`);

/** Inserts an invitation without a link: see {@link renewInvitation}. */
export async function insertInvitation(
  db: Queryable,
  values: Pick<InvitationRow, 'account_id' | 'email' | 'email_key' | 'role' | 'invited_by'>,
): Promise<InvitationRow> {
  return InvitationModel.on(db)
    .insert({ ...values, expires_at: expiry() })
    .returning(InvitationModel.columns);
}

/** Invitations that have not been accepted or revoked, newest first. */
export async function findInvitations(
  db: Queryable,
  { accountId }: AccountScope,
  page: Page,
): Promise<{ rows: InvitationRow[]; count: RowCount }> {
  const [{ rows }, count] = await Promise.all([
    db.query<InvitationRow>(
      `select ${COLUMNS} from invitations i
       where i.account_id = $1 and ${PENDING} and ($2::bigint is null or i.id < $2)
       order by i.id desc limit $3 offset $4`,
      [accountId, page.after, page.limit, page.offset],
    ),
    countRows(db, `invitations i where i.account_id = $1 and ${PENDING}`, [accountId]),
  ]);
  return { rows, count };
}

/**
 * Finds a pending invitation, and locks it: an acceptance at the same time waits, or has ended it.
 * @returns null if the account has no such pending invitation
 */
export async function findInvitation(
  db: Queryable,
  { accountId }: AccountScope,
  by: { id: number } | { email_key: string },
): Promise<InvitationRow | null> {
  const [row] = await InvitationModel.ofAccount(db, { accountId })
    .where(by)
    .whereNull('accepted_at')
    .whereNull('revoked_at')
    .forNoKeyUpdate()
    .select(InvitationModel.columns);
  return row ?? null;
}

export interface RecentCounts {
  /** Of the account. */
  all: number;
  /** Of the address in the account. */
  of_address: number;
  /** How long until the oldest one of the account no longer counts; null without any. */
  seconds: number | null;
  /** The same for the address. */
  seconds_of_address: number | null;
}

/** @param created SQL: when an invitation was made */
const secondsUntil = (created: string) =>
  `extract(epoch from (${created}) + interval '1 day' - now())::float8`;

/** Counts the invitations of the last 24 hours, including revoked ones. */
export async function countRecent(db: Queryable, accountId: number, emailKey: string): Promise<RecentCounts> {
  const { rows } = await db.query<RecentCounts>(
    `select count(*)::int as all, (count(*) filter (where email_key = $2))::int as of_address,
       ${secondsUntil('min(created_at)')} as seconds,
       ${secondsUntil('min(created_at) filter (where email_key = $2)')} as seconds_of_address
     from invitations where account_id = $1 and created_at > now() - interval '1 day'`,
    [accountId, emailKey],
  );
  return rows[0] as RecentCounts;
}

/** Starts the time of an invitation again, with a new token. @param digest null: the address has a user */
export async function renewInvitation(
  db: Queryable,
  id: number,
  { digest, mailed }: { digest: Buffer | null; mailed: boolean },
): Promise<InvitationRow> {
  const [row] = await InvitationModel.on(db)
    .where('id', id)
    .patch({
      token_digest: digest,
      mail_count: raw('mail_count + ?', [mailed ? 1 : 0]),
      expires_at: expiry(),
    })
    .returning(InvitationModel.columns);
  return row as InvitationRow;
}

export async function revokeInvitation(db: Queryable, id: number): Promise<void> {
  await InvitationModel.on(db).where('id', id).patch({ revoked_at: fn.now() });
}

/** How an invited person names an invitation: by its token, or signed in by its id. */
export type InvitationKey = { digest: Buffer | null } | { userId: number; id: number };

function acceptableSql(key: InvitationKey): { where: string; values: unknown[] } {
  if ('digest' in key) return { where: `i.token_digest = $1 and ${ACCEPTABLE}`, values: [key.digest] };
  return {
    where: `i.id = $1 and i.email_key = (select u.email_key from users u where u.id = $2) and ${ACCEPTABLE}`,
    values: [key.id, key.userId],
  };
}

export type NamedInvitationRow = InvitationRow & { account_name: string | null };

/** @returns null if there is no such invitation that can be accepted */
export async function findAcceptable(
  db: Queryable,
  digest: Buffer | null,
): Promise<NamedInvitationRow | null> {
  const { where, values } = acceptableSql({ digest });
  const { rows } = await db.query<NamedInvitationRow>(
    `select ${COLUMNS}, a.name as account_name from invitations i join accounts a on a.id = i.account_id where ${where}`,
    values,
  );
  return rows[0] ?? null;
}

/** The invitations that a user can accept, newest first. */
export async function findOfUser(db: Queryable, userId: number): Promise<NamedInvitationRow[]> {
  const { rows } = await db.query<NamedInvitationRow>(
    `select ${COLUMNS}, a.name as account_name
     from users u join invitations i on i.email_key = u.email_key join accounts a on a.id = i.account_id
     where u.id = $1 and ${ACCEPTABLE} order by i.id desc`,
    [userId],
  );
  return rows;
}

/** Ends an invitation, unless another request has just done so. @returns null if it cannot be accepted */
export async function endInvitation(
  db: Queryable,
  key: InvitationKey,
  as: 'accepted_at' | 'revoked_at',
): Promise<NamedInvitationRow | null> {
  const { where, values } = acceptableSql(key);
  const { rows } = await db.query<NamedInvitationRow>(
    `update invitations i set ${as} = now() where ${where}
     returning ${COLUMNS}, (select a.name from accounts a where a.id = i.account_id) as account_name`,
    values,
  );
  return rows[0] ?? null;
}
