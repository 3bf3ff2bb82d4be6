/** Shows the content of messages that were rendered when they were sent, such as those of campaigns. */
import type pg from 'pg';
import {
  type ContentEngine,
  type ContentValues,
  RenderError,
  type RenderedContent,
} from '../../delivery/contents/content.ts';
import { createSharedValues, type ReadBrand } from '../../delivery/contents/shared-values.ts';
import { headerText } from '../../delivery/contents/values.ts';
import { createVersionReader } from '../../delivery/contents/versions.ts';
import type { RecipientPages } from '../../delivery/send/recipient-pages.ts';
import { findContactValues } from '../contacts/service.ts';
import type { MessageRow } from './presenter.ts';

interface RenderedDeps {
  pool: pg.Pool;
  contents: Pick<ContentEngine, 'renderBatch'>;
  readBrand: ReadBrand;
  pages: RecipientPages;
}

/** A row of `messages` with its stored content. */
export type StoredMessage = MessageRow & {
  content_version_id?: number | null;
  html: string | null;
  text: string | null;
};

/** Whether a message of a campaign or flow has no content of its own. */
const isRendered = ({ campaign_id: campaignId, flow_id: flowId, html, text }: StoredMessage): boolean =>
  (typeof campaignId === 'number' || typeof flowId === 'number') && html === null && text === null;

/**
 * Returns a function that renders the content of a message of a campaign or flow from its version, with the values that
 * its contact has now. Links are not tracked.
 * @returns null if the message's own content is stored, was removed, or cannot be rendered
 */
export function createRenderedContents({ pool, contents, readBrand, pages }: RenderedDeps) {
  const versionOf = createVersionReader(pool);
  const sharedOf = createSharedValues(pool, readBrand);

  async function valuesOf(row: StoredMessage): Promise<ContentValues> {
    const { account_id: accountId, brand_id: brandId, contact_id: contactId = null } = row;
    const [{ brand, campaign }, contact] = await Promise.all([
      sharedOf({ accountId, brandId, campaignId: row.campaign_id ?? null }),
      contactId === null ? null : findContactValues(pool, brandId, { id: contactId }),
    ]);
    const common = { contact: { ...contact }, brand, campaign, variables: {} };
    const to = row.channel === 'email' ? row.to_address : null;
    if (to === null) return { ...common, unsubscribe_url: null, preferences_url: null };
    const recipient = { accountId, brandId, messageId: row.id, contactId, to };
    const unsubscribe = pages.unsubscribe(recipient);
    const preferences = pages.preferences(recipient);
    return { ...common, unsubscribe_url: unsubscribe?.url ?? null, preferences_url: preferences };
  }

  return async (row: StoredMessage): Promise<RenderedContent | null> => {
    if (typeof row.content_version_id !== 'number' || !isRendered(row)) return null;
    const [version, values] = await Promise.all([versionOf(row.content_version_id), valuesOf(row)]);
    const [rendered] = await contents.renderBatch(version, [values]);
    if (!rendered || rendered instanceof RenderError) return null;
    const { subject, html, text } = rendered;
    return { subject: subject === null ? null : headerText(subject).trim(), html, text };
  };
}
