import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import type { Backlog } from '../../terms/backlog.ts';
import { LETTER_QUEUE } from '../../terms/channels/queue-channel.ts';
import { MESSAGE_LIFETIME } from '../../terms/message.ts';
import { ccIsEnvelopeSql, maxBytesSql, takesMimeSql } from '../../terms/provider-facts.ts';
import { PROVIDER_CANNOT_TAKE } from '../limits/authority.ts';

/** Maximum number of letters that one statement moves. */
export const LETTERS_PAGE = 1_000;

export const rerouteLettersSql = defineSql(import.meta.url, './reroute_letters.sql', {
  table: PROVIDER_CANNOT_TAKE,
  regions: {
    page: () => `${LETTERS_PAGE}`,
    lifetime: () => MESSAGE_LIFETIME,
    max_bytes: () => maxBytesSql('p.kind'),
    cc_is_envelope: () => ccIsEnvelopeSql('p.kind'),
    takes_mime: () => takesMimeSql('p.kind'),
    hold: (reason) => `jsonb_build_object('hold', jsonb_build_object('reason', '${reason}', 'until', null))`,
  },
});

/** Letters that wait, by default in the queue of those that are built. */
type RoutedBacklog = Pick<Backlog, 'class' | 'accountId' | 'providerId'> & Partial<Pick<Backlog, 'queue'>>;

export interface LetterRoutes {
  /** Kinds of providers that recognize a message that they already have. */
  repeatableKinds: readonly string[];
  /** The kind of the provider in the setting; null: there is none. */
  defaultKind: string | null;
  /** Letters that a process has claimed, and that their provider cannot take; by default those that are due. */
  claimed?: { owner: number; ids: readonly number[] };
}

/**
 * Moves a page of letters to providers that work and can take them, and holds those that none can take.
 * @returns how many have moved, and their providers
 */
export async function rerouteLetters(
  db: Queryable,
  { class: priority, accountId, providerId, queue }: RoutedBacklog,
  { repeatableKinds, defaultKind, claimed }: LetterRoutes,
): Promise<{ moved: number; providerIds: number[] }> {
  const values = [priority, accountId, providerId, repeatableKinds, defaultKind];
  const { rows } = await db.query<{ moved: number; providerIds: number[] }>({
    ...rerouteLettersSql,
    values: [...values, claimed?.ids ?? null, claimed?.owner ?? null, queue ?? LETTER_QUEUE],
  });
  return rows[0] ?? { moved: 0, providerIds: [] };
}
