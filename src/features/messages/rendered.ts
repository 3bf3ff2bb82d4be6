/** Shows the content of messages that were rendered when they were sent, such as those of campaigns. */
import type pg from 'pg';
import type {
  ContentEngine,
  ContentValues,
  RenderedContent,
} from '../../delivery/content/templates/content.ts';
import {
  createSharedValues,
  type ReadBrand,
  SharedValuesMissingError,
} from '../../delivery/sender/compose/shared-values.ts';
import { headerText } from '../../delivery/content/templates/values.ts';
import { createVersionReader, VersionMissingError } from '../../delivery/content/templates/versions.ts';
import { eventSql } from '../../delivery/ledger/intend/recipient-sql.ts';
import { notFound } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { findContactValues } from '../contacts/service.ts';
import { type BrandOf, brandValues, DEAD_LINKS, fromEngine } from '../templates/service.ts';
import { findMessage } from './model.ts';
import type { MessageRow } from './presenter.ts';

interface RenderedDeps {
  pool: pg.Pool;
  contents: Pick<ContentEngine, 'renderBatch'>;
  readBrand: ReadBrand;
}

/** A row of `messages` with its stored content. */
export type StoredMessage = MessageRow & {
  content_version_id?: number | null;
  flow_run_id?: number | null;
  html: string | null;
  text: string | null;
};

/** Whether the message of a campaign or flow has no content of its own. */
const isRendered = ({ campaign_id: campaignId, flow_id: flowId, html, text }: StoredMessage): boolean =>
  (typeof campaignId === 'number' || typeof flowId === 'number') && html === null && text === null;

/** The event that started the flow run; null: the run is gone, or no event started it. */
async function findEvent(pool: pg.Pool, runId: number): Promise<Record<string, unknown> | null> {
  const { rows } = await pool.query<{ event: Record<string, unknown> | null }>({
    name: 'event_of_run_3',
    text: `select ${eventSql} as event from flow_runs r where r.id = $1`,
    values: [runId],
  });
  return rows[0]?.event ?? null;
}

/**
 * Returns a function that renders the content of a message of a campaign or flow from its version, with the values that
 * its contact has now. Links are not tracked, and those to unsubscribe lead nowhere.
 * @returns null if the message's own content is stored, was removed, or cannot be rendered
 * @throws AppError unavailable while no thread can render
 */
export function createRenderedContents({ pool, contents, readBrand }: RenderedDeps) {
  const versionOf = createVersionReader(pool);
  const sharedOf = createSharedValues(pool, readBrand);

  async function valuesOf(row: StoredMessage): Promise<ContentValues> {
    const { account_id: accountId, brand_id: brandId, contact_id: contactId = null } = row;
    const runId = row.flow_run_id ?? null;
    const [{ brand, campaign }, contact, event] = await Promise.all([
      sharedOf({ accountId, brandId, campaignId: row.campaign_id ?? null }),
      contactId === null ? null : findContactValues(pool, brandId, { id: contactId }),
      runId === null ? null : findEvent(pool, runId),
    ]);
    return { contact: { ...contact }, event, brand, campaign, variables: {}, ...DEAD_LINKS };
  }

  /** @returns undefined if the version or the campaign is gone */
  async function render(row: StoredMessage, versionId: number) {
    try {
      const [version, values] = await Promise.all([versionOf(versionId), valuesOf(row)]);
      const [rendered] = await fromEngine(contents.renderBatch(version, [values]));
      return rendered;
    } catch (error) {
      if (error instanceof VersionMissingError || error instanceof SharedValuesMissingError) return undefined;
      throw error;
    }
  }

  return async (row: StoredMessage): Promise<RenderedContent | null> => {
    if (typeof row.content_version_id !== 'number' || !isRendered(row)) return null;
    const rendered = await render(row, row.content_version_id);
    if (!rendered || rendered instanceof Error) return null;
    const { subject, html, text } = rendered;
    return { subject: subject === null ? null : headerText(subject).trim(), html, text };
  };
}

/** Reads the content of a message as it is shown. @throws AppError not_found, unavailable */
export type ReadContent = (tenant: Tenant, id: number) => Promise<RenderedContent>;

export function createContentReader({
  pool,
  contents,
  brandOf,
}: Pick<RenderedDeps, 'pool' | 'contents'> & { brandOf: BrandOf }): ReadContent {
  const readBrand: ReadBrand = async (scope) => brandValues(await brandOf(scope));
  const rendered = createRenderedContents({ pool, contents, readBrand });
  return async (tenant, id) => {
    const row = await findMessage(pool, tenant, id);
    if (!row) throw notFound('message');
    const { subject = null, html = null, text = null } = row;
    return (await rendered(row)) ?? { subject, html, text };
  };
}
