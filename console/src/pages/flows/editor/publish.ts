import { api, call, callWithTag } from '../../../api/client.ts';
import type { Draft } from '../../../editors/draft/draft.ts';
import { changesOf, contentOf } from './content.ts';
import type { FlowContent } from './model.ts';

export interface PublishChoices {
  /** Whether runs under way move to the new version. */
  applyTo: 'new' | 'waiting';
  /** Null publishes a draft without activating it. */
  activate: { enterExisting: boolean } | null;
}

/** Sends the draft as the flow, and activates the flow if it is asked to. */
export async function publishFlow(
  flowId: number,
  draft: Pick<Draft<FlowContent>, 'content' | 'publish'>,
  { applyTo, activate }: PublishChoices,
): Promise<void> {
  const path = { id: flowId };
  let header = {};
  await draft.publish(async (content, etag) => {
    const { data, etag: next } = await callWithTag(() =>
      api.PATCH('/v1/my/flows/{id}', {
        params: { path, header: { 'If-Match': etag } },
        body: { ...changesOf(content), apply_to: applyTo },
      }),
    );
    header = { 'If-Match': next };
    return { content: contentOf(data), etag: next, at: data.updated_at };
  }, draft.content);
  if (!activate) return;
  await call(() =>
    api.POST('/v1/my/flows/{id}/activate', {
      // What was published, and not what someone else has published since.
      params: { path, header },
      body: { enter_existing: activate.enterExisting },
    }),
  );
}
