import type { Schemas } from '../api/client.ts';

type Result = Pick<Schemas['SearchResult'], 'type' | 'id' | 'title'>;

const PATHS: Partial<Record<Result['type'], string>> = {
  contact: '/contacts',
  message: '/messages',
  campaign: '/campaigns',
  flow: '/flows',
  flow_run: '/flow-runs',
  template: '/templates',
  list: '/lists',
  segment: '/segments',
  conversation: '/inbox',
  import: '/imports',
  export: '/exports',
  bulk_action: '/bulk-actions',
  validation_operation: '/validations',
  webhook: '/webhooks',
  domain: '/domains',
};

/** Returns the page of a resource, below the brand; null if it has none. */
export function pageOfResource({ type, id, title }: Result): string | null {
  if (type === 'suppression') return `/suppressions?email=${encodeURIComponent(title ?? '')}`;
  const path = PATHS[type];
  return path === undefined ? null : `${path}/${id}`;
}
