/** The requests about one draft. */
import { api, call, callWithTag, type Schemas } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import type { DraftOf, ReadContent } from './draft.ts';
import type { SessionParts } from './session.ts';
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
  const { content, base, updated_at: at, updated_by: by } = data;
  const name = by?.id === userId ? 'You' : (by?.name ?? 'An API key');
  return { content: read(content), etag, base, at, by: name };
}

export function createDraftService<Content extends object>(
  { kind, id, accountId, brandId, userId }: DraftOwner,
  read: ReadContent<Content>,
): Service<Content> {
  const path = { kind, resource_id: id };
  // What is saved when the editor closes must not go to the brand that is shown next.
  const tenant = { 'X-Account-Id': String(accountId), 'X-Brand-Id': String(brandId) };
  return {
    async load() {
      const { data, etag } = await callWithTag(() =>
        api.GET('/v1/my/drafts/{kind}/{resource_id}', { params: { path, header: tenant } }),
      );
      return data && storedOf({ data, etag }, userId, read);
    },
    async save({ content, base, over }) {
      const condition = over === null ? { 'If-None-Match': '*' as const } : { 'If-Match': over };
      const saved = await callWithTag(() =>
        api.PUT('/v1/my/drafts/{kind}/{resource_id}', {
          params: { path, header: { ...tenant, ...condition } },
          body: { content: content as Record<string, unknown>, base },
        }),
      );
      return { ...storedOf(saved, userId, read), content };
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
