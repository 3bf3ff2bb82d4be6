import { notFound } from '../../errors.ts';
import { ALIVE, SESSION_COLUMNS } from '../../platform/auth/session-rows.ts';
import type { UserSession } from '../../platform/auth/session.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Role } from '../../platform/auth/tenant.ts';

/** A session as its user sees it. */
export interface SessionRow extends UserSession {
  network: string | null;
  userAgent: string | null;
  createdAt: Date;
  lastUsedAt: Date;
}

const COLUMNS = `${SESSION_COLUMNS}, s.network, s.user_agent as "userAgent", s.created_at as "createdAt",
  s.last_used_at as "lastUsedAt"`;

/** Newest first. */
export async function findSessions(db: Queryable, userId: number): Promise<SessionRow[]> {
  const { rows } = await db.query<SessionRow>(
    `select ${COLUMNS} from sessions s where s.user_id = $1 and ${ALIVE} order by s.id desc`,
    [userId],
  );
  return rows;
}

/** @throws AppError not_found */
export async function findSession(db: Queryable, userId: number, id: number): Promise<SessionRow> {
  const { rows } = await db.query<SessionRow>(
    `select ${COLUMNS} from sessions s where s.user_id = $1 and s.id = $2 and ${ALIVE}`,
    [userId, id],
  );
  const [row] = rows;
  if (!row) throw notFound('session');
  return row;
}

export interface OwnAccountRow {
  id: number;
  name: string;
  role: Role;
  brands: { id: number; company_name: string }[];
}

/** The accounts of a user, in the order in which a session chooses the first one. */
export async function findOwnAccounts(db: Queryable, userId: number): Promise<OwnAccountRow[]> {
  const { rows } = await db.query<OwnAccountRow>(
    `select a.id, a.name, m.role, coalesce(
       (select json_agg(json_build_object('id', b.id, 'company_name', b.company_name) order by b.id)
        from brands b where b.account_id = a.id), '[]') as brands
     from memberships m join accounts a on a.id = m.account_id and a.kind = 'customer'
     where m.user_id = $1 order by m.created_at, m.account_id`,
    [userId],
  );
  return rows;
}
