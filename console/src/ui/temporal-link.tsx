import { useBrand } from '../shell/brand.ts';

/** A link to a workflow in Temporal's UI, for operators of the installation. @param id the workflow id, such as `campaign/7` */
export function WorkflowLink({ id }: { id: string }) {
  const { user } = useBrand().signedIn;
  if (user.temporal_ui_url === null) return null;
  const namespace = user.temporal_namespace ?? 'default';
  return (
    <a
      className="button quiet"
      href={workflowUrl(user.temporal_ui_url, namespace, id)}
      target="_blank"
      rel="noreferrer"
    >
      Workflow
    </a>
  );
}

const workflowUrl = (base: string, namespace: string, id: string) =>
  `${base.replace(/\/+$/, '')}/namespaces/${encodeURIComponent(namespace)}/workflows/${encodeURIComponent(id)}`;
