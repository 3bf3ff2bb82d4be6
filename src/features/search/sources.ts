/** What a search finds. Each look-up uses an index of the table. */
import { endedSql } from '../../delivery/consent/suppressions.ts';
import type { FoundType } from './schema.ts';

interface Source {
  /** The path of the resource, without its id. */
  path: string;
  table: string;
  /** Whether rows belong to the account, instead of one of its brands. */
  ofAccount?: true;
  /** SQL over `t`, as are all the following. */
  title: string;
  status?: string;
  /** Rows that clients see. */
  visible?: string;
  /** Rows whose `name` is searched, which need an index of brand and `lower(name)`. */
  named?: string;
}

const kept = 't.removed_at is null';

export const sources: Record<FoundType, Source> = {
  contact: {
    path: '/v1/my/contacts',
    table: 'contacts',
    title: `coalesce(nullif(concat_ws(' ', t.first_name, t.last_name), ''), t.email, t.phone)`,
  },
  message: {
    path: '/v1/my/messages',
    table: 'messages',
    title: 'coalesce(t.subject, t.to_address)',
    status: 't.status',
  },
  campaign: {
    path: '/v1/my/campaigns',
    table: 'campaigns',
    title: 't.name',
    status: 't.status',
    visible: kept,
    named: kept,
  },
  flow: { path: '/v1/my/flows', table: 'flows', title: 't.name', status: 't.status', named: 'true' },
  flow_run: { path: '/v1/my/flow_runs', table: 'flow_runs', title: 'null', status: 't.state' },
  template: {
    path: '/v1/my/templates',
    table: 'templates',
    title: 'coalesce(t.name, t.subject)',
    visible: kept,
    // Contents of campaigns and flows are found by the names of these.
    named: `${kept} and t.campaign_id is null and t.flow_id is null`,
  },
  list: { path: '/v1/my/lists', table: 'lists', title: 't.name', visible: kept, named: kept },
  segment: { path: '/v1/my/segments', table: 'segments', title: 't.name', named: 'true' },
  suppression: {
    path: '/v1/my/suppressions',
    table: 'suppressions',
    ofAccount: true,
    title: 'coalesce(t.email, t.phone)',
    status: `case when ${endedSql('t')} then 'ended' else 'active' end`,
  },
  conversation: {
    path: '/v1/my/conversations',
    table: 'conversations',
    title: 't.subject',
    status: 't.status',
  },
  import: { path: '/v1/my/imports', table: 'imports', title: 't.filename', status: 't.status' },
  export: { path: '/v1/my/exports', table: 'exports', title: 't.resource', status: 't.status' },
  validation_operation: {
    path: '/v1/my/validation_operations',
    table: 'validation_operations',
    title: 'null',
    status: 't.status',
  },
  bulk_action: {
    path: '/v1/my/contacts/bulk_actions',
    table: 'bulk_actions',
    title: 't.action',
    status: 't.status',
  },
  webhook: {
    path: '/v1/my/webhooks',
    table: 'webhooks',
    title: 't.url',
    status: `case when t.enabled then 'enabled' else 'disabled' end`,
  },
  domain: { path: '/v1/my/domains', table: 'domains', title: 't.name', status: 't.status' },
};
