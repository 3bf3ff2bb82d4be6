/** The requests about one draft. */
import { api, call, callWithTag, type Schemas } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { YOU } from './change-text.ts';
import type { DraftOf, ReadContent } from './draft.ts';
import type { SessionParts } from './session-parts.ts';
import type { StoredDraft } from './versions.ts';

/** A draft, and who edits it. */
export interface DraftOwner extends DraftOf {
  accountId: number;
  brandId: number;
  userId: number;
}

type Service<Content> = SessionParts<Content>['service'];

function storedOf<Content>(
  { data, etag }: { data: Schemas['Draft']; etag: string },
  userId: number,
  read: ReadContent<Content>,
): StoredDraft<Content> {
  const { content, base, base_content: baseContent, updated_at: at, updated_by: by } = data;
  const name = by ? nameOf(by, userId) : 'An API key';
  return { content: read(content), etag, base, baseContent: read(baseContent), at, by: name };
}

const nameOf = ({ id, name }: { id: number; name: string }, userId: number): string =>
  id === userId ? YOU : name;

/** Two contents in one request must not exceed its size. */
const MAX_BASE_CHARS = 1_000_000;

const withinLimit = (content: object | null): Record<string, unknown> | null =>
  content && JSON.stringify(content).length <= MAX_BASE_CHARS ? { ...content } : null;

export function createDraftService<Content extends object>(
  { kind, id, accountId, brandId, userId }: DraftOwner,
  read: ReadContent<Content>,
): Service<Content> {
  const path = { kind, resource_id: id };
  // A draft that is saved when the editor closes must not go to the brand that is shown next.
  const tenant = { 'X-Account-Id': String(accountId), 'X-Brand-Id': String(brandId) };
  const find = () =>
    callWithTag(() => api.GET('/v1/my/drafts/{kind}/{resource_id}', { params: { path, header: tenant } }));
  /** The base whose content the service has. */
  let knownBase: string | null = null;
  const stored = (found: { data: Schemas['Draft']; etag: string }): StoredDraft<Content> => {
    knownBase = found.data.base_content && found.data.base;
    return storedOf(found, userId, read);
  };
  return {
    async load() {
      const { data, etag } = await find();
      return data && stored({ data, etag });
    },
    async publisher() {
      const by = (await find()).data?.resource_changed_by;
      return by ? nameOf(by, userId) : null;
    },
    async save({ content, base, baseContent, over }) {
      const isKnown = over !== null && base === knownBase;
      const condition = over === null ? { 'If-None-Match': '*' as const } : { 'If-Match': over };
      const saved = await callWithTag(() =>
        api.PUT('/v1/my/drafts/{kind}/{resource_id}', {
          params: { path, header: { ...tenant, ...condition } },
          body: {
            content: content as Record<string, unknown>,
            base,
            ...(isKnown ? {} : { base_content: withinLimit(baseContent) }),
          },
        }),
      );
      return { ...stored(saved), content };
    },
    async remove(etag) {
      const header = { ...tenant, 'If-Match': etag };
      try {
        await call(() => api.DELETE('/v1/my/drafts/{kind}/{resource_id}', { params: { path, header } }));
      } catch (error) {
        // Someone else has just deleted it.
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      }
    },
  };
}
