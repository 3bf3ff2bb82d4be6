import { LRUCache } from 'lru-cache';
import { channelFacts } from '../../delivery/terms/channels/index.ts';
import { RenderError, type VersionContent } from '../../delivery/content/templates/content.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import { invalid } from '../../errors.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { exactTime } from '../../platform/db/queryable.ts';
import type { Brand } from '../brands/schema.ts';
import { findContactValues } from '../contacts/service.ts';
import { brandValues } from './brand-parts.ts';
import { fieldMessage, fromEngine, otherChannel } from './compile.ts';
import { pinVersion, type TemplateDeps } from './pin.ts';
import { tryRender } from './render.ts';
import { type LinkDeps, linksOf } from './values.ts';

/** A message of POST /messages whose content is a template. */
export interface TemplateRequest {
  templateId: number;
  channel: Channel;
  variables: Record<string, unknown>;
  /** The recipient as `to_key` of messages; null: `to` is not an address. */
  toKey: string | null;
  /** The recipient as in the request. */
  to: string;
  /** Whether others get the same content, so that it must not have data of the recipient, or links that act for them. */
  shared: boolean;
}

/** The part of a message that its template determines. */
export interface TemplateMessage {
  templateId: number;
  versionId: number;
  subject: string | null;
  html: string | null;
  text: string | null;
  fromName: string | null;
  fromEmail: string | null;
  replyTo: string | null;
}

/** Renders the template of a message that is being accepted. @throws AppError validation_error, unavailable */
export type RenderForMessage = (scope: BrandScope, request: TemplateRequest) => Promise<TemplateMessage>;

export interface MessageContentDeps extends TemplateDeps, LinkDeps {}

const FIELD = 'template_id';
const MAX_KNOWN = 1_000;
/** Approximate maximum size of the versions in the cache, in bytes. */
const MAX_KNOWN_SIZE = 32 * 1024 * 1024;
const OVERHEAD = 2_000;

interface Present {
  version: VersionContent;
  brand: Brand;
}

/**
 * Returns a name for the present content of a template. It changes whenever the row of the template or of its brand
 * does.
 */
async function presentName(
  { pool }: TemplateDeps,
  { accountId, brandId }: BrandScope,
  templateId: number,
): Promise<{ name: string; channel: Channel } | null> {
  const { rows } = await pool.query<{ channel: Channel; changed: string }>({
    name: 'present_template',
    text: `select t.channel, ${exactTime('t.updated_at')} || ' ' || ${exactTime('b.updated_at')} as changed
      from templates t join brands b on b.id = t.brand_id
      where t.id = $3 and t.account_id = $1 and t.brand_id = $2 and t.removed_at is null`,
    values: [accountId, brandId, templateId],
  });
  const [row] = rows;
  return row ? { channel: row.channel, name: `${templateId} ${row.changed}` } : null;
}

async function pin(deps: TemplateDeps, scope: BrandScope, templateId: number): Promise<Present> {
  const [pinned, brand] = await Promise.all([
    fromEngine(pinVersion(deps, scope, templateId, { footer: 'none' })),
    deps.brandOf(scope),
  ]);
  if (pinned.versionId !== null) return { version: pinned.version, brand };
  const reasons = pinned.problems.map((problem) => `${problem.field} ${fieldMessage(problem)}`);
  throw invalid({ [FIELD]: reasons.map((reason) => `names a template whose ${reason}`) });
}

/** Whether the content has links by which its recipient unsubscribes. */
const actsForContact = ({ html, text, subject }: VersionContent): boolean =>
  [subject, html, text].some((part) => part !== null && /unsubscribe_url|preferences_url/.test(part));

/** Whether the content uses data of its recipient. */
const readsContact = (version: VersionContent): boolean =>
  version.paths.length > 0 || actsForContact(version);

/** Why a content must not go to several recipients, who would all get what is made for the first; null: it may. */
function unsharedReason(version: VersionContent): string | null {
  if (actsForContact(version)) return 'links to unsubscribe';
  const [path] = version.paths;
  return path === undefined
    ? null
    : `data of the contact (\`contact.${path}\`); what all may read can be given in \`variables\``;
}

/**
 * Creates the function that renders templates for POST /messages. Compiled versions are cached until their template or
 * brand changes, which one look-up per message checks.
 */
export function createMessageContents(deps: MessageContentDeps): RenderForMessage {
  const cache = new LRUCache<string, Present>({
    max: MAX_KNOWN,
    maxSize: MAX_KNOWN_SIZE,
    sizeCalculation: ({ version: { html, text } }) =>
      2 * ((html?.length ?? 0) + (text?.length ?? 0)) + OVERHEAD,
  });
  const pinning = new Map<string, Promise<Present>>();

  function present(scope: BrandScope, templateId: number, name: string): Present | Promise<Present> {
    const known = cache.get(name) ?? pinning.get(name);
    if (known) return known;
    const promise = pin(deps, scope, templateId)
      .then((made) => {
        cache.set(name, made);
        return made;
      })
      .finally(() => pinning.delete(name));
    pinning.set(name, promise);
    return promise;
  }

  return async (scope, { templateId, channel, variables, toKey, to, shared }) => {
    const found = await presentName(deps, scope, templateId);
    if (!found) throw invalid({ [FIELD]: ['is not the id of a template of this brand'] });
    if (found.channel !== channel) throw invalid({ [FIELD]: [otherChannel(found.channel, channel)] });
    const { version, brand } = await present(scope, templateId, found.name);
    const reason = shared ? unsharedReason(version) : null;
    if (reason !== null) {
      throw invalid({ [FIELD]: [`must not go to several recipients, because the template has ${reason}`] });
    }
    const keys = channel === 'email' ? { emailKey: toKey, phone: null } : { emailKey: null, phone: toKey };
    const contact = readsContact(version) ? await findContactValues(deps.pool, scope.brandId, keys) : null;
    const values = {
      contact: contact ?? { [channelFacts[channel].contact.kind]: to },
      event: null,
      brand: brandValues(brand),
      campaign: null,
      ...linksOf(deps, scope, contact),
      variables,
    };
    const rendered = await tryRender(deps.contents, version, values);
    if (rendered instanceof RenderError) {
      throw invalid({ [FIELD]: [`names a template that cannot be rendered: ${rendered.message}`] });
    }
    const { fromName, fromEmail, replyTo, id: versionId } = version;
    return { templateId, versionId, ...rendered, fromName, fromEmail, replyTo };
  };
}
