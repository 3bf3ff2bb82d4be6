import { useBrand } from '../shell/brand.ts';

/**
 * A link to Temporal's UI, for operators of the installation: to one workflow by its id, such as `campaign/7`, or to
 * those that a query finds.
 */
export function WorkflowLink(of: { id: string } | { query: string }) {
  const { user } = useBrand().signedIn;
  if (user.temporal_ui_url === null) return null;
  const namespace = user.temporal_namespace ?? 'default';
  const workflows = `${user.temporal_ui_url}/namespaces/${encodeURIComponent(namespace)}/workflows`;
  const href =
    'id' in of
      ? `${workflows}/${encodeURIComponent(of.id)}`
      : `${workflows}?query=${encodeURIComponent(of.query)}`;
  return (
    <a className="button quiet" href={href} target="_blank" rel="noreferrer">
      Workflow
    </a>
  );
}
