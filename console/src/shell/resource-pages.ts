import type { Schemas } from '../api/client.ts';
import type { ListSearch } from '../ui/list-search.ts';

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

export interface ResourcePage {
  /** Below the brand. */
  to: string;
  search?: ListSearch;
}

/** The list of suppressions, with only the one of an address. */
export const pageOfSuppression = (address: string): ResourcePage => ({
  to: '/suppressions',
  search: address.includes('@') ? { email: address } : { phone: address },
});

/** Returns the page of a resource; null if it has none. */
export function pageOfResource({ type, id, title }: Result): ResourcePage | null {
  if (type === 'suppression') return title === null ? null : pageOfSuppression(title);
  const path = PATHS[type];
  return path === undefined ? null : { to: `${path}/${id}` };
}
