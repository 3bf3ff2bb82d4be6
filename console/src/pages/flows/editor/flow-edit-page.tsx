import { useQuery } from '@tanstack/react-query';
import { api, callWithTag } from '../../../api/client.ts';
import { useId } from '../../../ui/links.tsx';
import { QueryView } from '../../../ui/query-view.tsx';
import { contentOf } from './content.ts';
import { FlowEditorPage } from './flow-editor.tsx';

/** Edits a flow. Nothing live changes until it is published. */
export function FlowEditPage() {
  const id = useId('flowId');
  const query = useQuery({
    queryKey: ['flows', id, 'edit'],
    queryFn: async ({ signal }) => {
      const { data, etag } = await callWithTag(() =>
        api.GET('/v1/my/flows/{id}', { params: { path: { id } }, signal }),
      );
      return { flow: data, published: { content: contentOf(data), etag, at: data.updated_at } };
    },
  });
  return <QueryView query={query}>{(loaded) => <FlowEditorPage key={id} {...loaded} />}</QueryView>;
}
