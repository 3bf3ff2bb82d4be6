/** Composes messages without a stored content, such as those of campaigns, in groups that share a content version. */
import {
  type ContentEngine,
  ContentEngineUnavailableError,
  type ContentValues,
  type VersionContent,
} from '../../content/templates/content.ts';
import { nestValues, type SharedOf, type SharedValues, SharedValuesMissingError } from './shared-values.ts';
import type { SendingDomain } from '../../content/dkim/domain-signers.ts';
import { type AnsweredMail, answerHeaders } from '../../content/mime/answer-headers.ts';
import { VersionMissingError } from '../../content/templates/versions.ts';
import type { BatchMessage } from '../../ledger/intend/batch.ts';
import type { PageRecipient, RecipientPages } from './recipient-pages.ts';
import type { TrackedMessage } from '../../content/mime/tracked-links.ts';

/** The sources of the contents of such messages. */
export interface ContentSources {
  versions: (id: number) => VersionContent | Promise<VersionContent>;
  shared: (of: SharedOf) => SharedValues | Promise<SharedValues>;
  engine: Pick<ContentEngine, 'divide' | 'renderBatch'>;
  pages: RecipientPages;
}

/** Thrown if the content or its values cannot be read now. The message itself is not the cause. */
export class ContentUnavailableError extends Error {}

/** Whether the message is rendered when it is composed, because it has a version and no stored content. */
export function isRendered({ contentVersionId, html, text }: BatchMessage): boolean {
  return contentVersionId !== null && html === null && text === null;
}

/** What messages of one version share, for one campaign or for flows. */
export interface VersionGroup {
  version: VersionContent;
  shared: SharedValues;
}

/** A message with everything that it is rendered from. */
export interface Rendering {
  message: BatchMessage & TrackedMessage;
  values: ContentValues;
  /** Those for one-click unsubscribe, and those of an automatic answer to a mail. */
  headers: Record<string, string>;
}

/** A message with its sending domain; null: an address of the service. */
export interface AddressedRendering extends Rendering {
  sending: SendingDomain | null;
}

/** Headers of all bulk mail. */
export const BULK_HEADERS = { Precedence: 'bulk' };

/** Identifies the campaign or flow in feedback of mail services. */
export const feedbackIdOf = ({ brandId, campaign, flow }: BatchMessage): string =>
  flow ? `${flow.id}:${brandId}:flow:carillon` : `${campaign?.id ?? 0}:${brandId}:campaign:carillon`;

const pageRecipient = (message: BatchMessage): PageRecipient => ({
  accountId: message.accountId,
  brandId: message.brandId,
  messageId: message.messageId,
  contactId: (message.campaign ?? message.flow)?.contactId ?? null,
  to: message.to,
});

/** Marks a message of a flow that answers a mail, so that no machine answers it (RFC 3834 §3.1). */
const automaticAnswer = (mail: AnsweredMail): Record<string, string> => ({
  'Auto-Submitted': 'auto-replied',
  ...answerHeaders(mail),
});

function headersOf(unsubscribe: Record<string, string> = {}, answers: AnsweredMail | null = null) {
  return answers ? { ...unsubscribe, ...automaticAnswer(answers) } : unsubscribe;
}

/** Collects the values of a message. */
export function renderingOf(
  message: BatchMessage,
  { version, shared }: VersionGroup,
  pages: RecipientPages,
): Rendering {
  const isEmail = message.channel === 'email';
  const recipient = pageRecipient(message);
  const unsubscribe = isEmail ? pages.unsubscribe(recipient) : null;
  let preferences: string | null | undefined;
  return {
    message: { ...message, set: version.id },
    headers: headersOf(unsubscribe?.headers, message.flow?.answers),
    values: {
      contact: nestValues((message.campaign ?? message.flow)?.contact ?? {}),
      event: message.flow?.event ?? null,
      brand: shared.brand,
      campaign: shared.campaign,
      unsubscribe_url: unsubscribe?.url ?? null,
      // The link is created on demand: most contents do not read it, and it has to be signed.
      get preferences_url() {
        if (preferences === undefined) preferences = isEmail ? pages.preferences(recipient) : null;
        return preferences;
      },
      variables: {},
    },
  };
}

async function readGroup(first: BatchMessage, contents: ContentSources): Promise<VersionGroup> {
  const { accountId, brandId, campaign, contentVersionId } = first;
  try {
    const version = await contents.versions(contentVersionId ?? 0);
    const shared = await contents.shared({ accountId, brandId, campaignId: campaign?.id ?? null });
    return { version, shared };
  } catch (error) {
    if (error instanceof VersionMissingError || error instanceof SharedValuesMissingError) throw error;
    throw new ContentUnavailableError('the content could not be read', { cause: error });
  }
}

function groupsOf(messages: readonly BatchMessage[]): BatchMessage[][] {
  const groups = new Map<string, BatchMessage[]>();
  for (const message of messages) {
    const key = `${message.contentVersionId}:${message.campaign?.id}:${message.brandId}`;
    const group = groups.get(key);
    if (group) group.push(message);
    else groups.set(key, [message]);
  }
  return [...groups.values()];
}

/**
 * Composes messages by version and campaign.
 * @param compose returns a result or an error for each message, or rejects for all of them
 * @returns a result or an error for each message, in their order
 */
export async function composeByVersion<Result>(
  messages: readonly BatchMessage[],
  contents: ContentSources,
  compose: (messages: readonly BatchMessage[], group: VersionGroup) => Promise<(Result | Error)[]>,
): Promise<(Result | Error)[]> {
  const results = new Map<BatchMessage, Result | Error>();
  const composeOne = async (group: readonly BatchMessage[]) => {
    const composed = await compose(group, await readGroup(group[0] as BatchMessage, contents));
    for (const [n, message] of group.entries()) results.set(message, composed[n] as Result | Error);
  };
  await Promise.all(
    groupsOf(messages).map((group) =>
      composeOne(group).catch((error: unknown) => {
        const reason =
          error instanceof ContentEngineUnavailableError
            ? new ContentUnavailableError(error.message, { cause: error })
            : (error as Error);
        for (const message of group) results.set(message, reason);
      }),
    ),
  );
  return messages.map((message) => results.get(message) ?? new Error('the message was not composed'));
}
