import type { Queryable } from '../db/queryable.ts';
import type { AccountTenant } from '../auth/tenant.ts';
import { parseEmailAddress } from '../addresses/email.ts';
import type { CapacitySettings } from '../delivery/authority.ts';
import { invalid, notFound, type ValidationErrors } from '../errors.ts';
import type { ImageReferences } from '../storage/image-reference.ts';
import { findAccountFigures, type AccountFigures } from './figures.ts';
import { sandboxAddress } from './sandbox.ts';
import type { PatchAccountBody } from './schema.ts';

/** What an account's own people change. */
export interface AccountProfile {
  /** @throws AppError not_found */
  find(tenant: AccountTenant): Promise<AccountFigures>;
  /**
   * @throws AppError validation_error naming every bad field; sender_not_verified where only
   *   `email_from_email` is wrong, and is no verified sender identity of the account
   */
  change(tenant: AccountTenant, body: PatchAccountBody): Promise<AccountFigures>;
}

interface ProfileDeps {
  db: Queryable;
  images: ImageReferences;
  mailDomain: string;
  capacity: CapacitySettings;
}

type Changes = Record<string, unknown>;

/** As it goes on the wire: the schema let only addresses in. */
function normalized(text: string): string {
  const parsed = parseEmailAddress(text);
  return 'error' in parsed ? text : parsed.address;
}

function textChanges(body: PatchAccountBody): Changes {
  const changes: Changes = {};
  for (const field of ['name', 'email_from_name'] as const) {
    if (body[field] !== undefined) changes[field] = body[field];
  }
  for (const field of ['email_from_email', 'email_reply_to'] as const) {
    const given = body[field];
    if (given !== undefined) changes[field] = given === null ? null : normalized(given);
  }
  const recipients = body.test_email_recipients;
  if (recipients) changes.test_email_recipients = [...new Set(recipients.map(normalized))];
  return changes;
}

async function checkImages(
  { images }: ProfileDeps,
  tenant: AccountTenant,
  body: PatchAccountBody,
  errors: ValidationErrors,
): Promise<Changes> {
  const changes: Changes = {};
  for (const field of ['avatar', 'banner'] as const) {
    const given = body[field];
    if (given === undefined) continue;
    changes[field] = given === null ? null : await images.accept(tenant.accountId, given);
    if (given !== null && changes[field] === null) {
      errors[field] = ['must be the signed_id of an uploaded image'];
    }
  }
  return changes;
}

/** Until domains are registered the sandbox's address is the one verified sender. */
function requireVerifiedSender(deps: ProfileDeps, tenant: AccountTenant, address: unknown): void {
  if (typeof address !== 'string') return;
  if (address.toLowerCase() === sandboxAddress(tenant.accountId, deps.mailDomain)) return;
  throw invalid({ email_from_email: ['is not a verified sender of this account'] }, 'sender_not_verified');
}

async function write(db: Queryable, accountId: number, changes: Changes): Promise<void> {
  const names = Object.keys(changes);
  if (names.length === 0) return;
  const set = names.map((name, index) => `${name} = $${index + 2}`).join(', ');
  await db.query(`update accounts set ${set}, updated_at = now() where id = $1`, [
    accountId,
    ...Object.values(changes),
  ]);
}

export function createAccountProfile(deps: ProfileDeps): AccountProfile {
  async function find(tenant: AccountTenant): Promise<AccountFigures> {
    const figures = await findAccountFigures(deps.db, tenant.accountId, deps.capacity);
    if (!figures) throw notFound('account');
    return figures;
  }
  return {
    find,
    async change(tenant, body) {
      const errors: ValidationErrors = {};
      const changes = { ...textChanges(body), ...(await checkImages(deps, tenant, body, errors)) };
      if (Object.keys(errors).length > 0) throw invalid(errors);
      requireVerifiedSender(deps, tenant, changes.email_from_email);
      await write(deps.db, tenant.accountId, changes);
      return find(tenant);
    },
  };
}
