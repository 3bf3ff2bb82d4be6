/** What a search finds. Each look-up uses an index of the table. */
import { answersMailSql } from '../../delivery/ledger/accept/answered-mail.ts';
import { endedSql } from '../../delivery/ledger/consent/suppressions.ts';
import { memberRoles, type Role } from '../../platform/auth/tenant.ts';
import { webhookRoles } from '../webhooks/schema.ts';
import type { FoundType } from './schema.ts';

interface Source {
  /** The path of the resource, without its id. */
  path: string;
  /** Who may read the resource there: others do not find it. */
  roles: readonly Role[];
  table: string;
  /** Whether rows belong to the account, instead of one of its brands. */
  ofAccount?: true;
  /** SQL over `t`: rows about what all brands of the account share. */
  shared?: string;
  /** SQL over `t`, as are all the following. */
  title: string;
  status?: string;
  /** Whether the title is the subject of a stranger's mail, or of an answer to one. */
  hasMail?: string;
  /** Rows that clients see. */
  visible?: string;
  /** Rows whose `name` is searched, which need an index of brand and `lower(name)`. */
  named?: string;
}

const everyone = memberRoles;
const kept = 't.removed_at is null';
const ofSuppressions = `t.resource = 'suppressions'`;

export const sources: Record<FoundType, Source> = {
  contact: {
    path: '/v1/my/contacts',
    roles: everyone,
    table: 'contacts',
    title: `coalesce(nullif(concat_ws(' ', t.first_name, t.last_name), ''), t.email, t.phone)`,
  },
  message: {
    path: '/v1/my/messages',
    roles: everyone,
    table: 'messages',
    title: 'coalesce(t.subject, t.to_address)',
    status: 't.status',
    hasMail: answersMailSql('t'),
  },
  campaign: {
    path: '/v1/my/campaigns',
    roles: everyone,
    table: 'campaigns',
    title: 't.name',
    status: 't.status',
    visible: kept,
    named: kept,
  },
  flow: {
    path: '/v1/my/flows',
    roles: everyone,
    table: 'flows',
    title: 't.name',
    status: 't.status',
    named: 'true',
  },
  flow_run: {
    path: '/v1/my/flow_runs',
    roles: everyone,
    table: 'flow_runs',
    title: 'null',
    status: 't.state',
  },
  template: {
    path: '/v1/my/templates',
    roles: everyone,
    table: 'templates',
    title: 'coalesce(t.name, t.subject)',
    visible: kept,
    // Contents of campaigns and flows are found by the names of these.
    named: `${kept} and t.campaign_id is null and t.flow_id is null`,
  },
  list: {
    path: '/v1/my/lists',
    roles: everyone,
    table: 'lists',
    title: 't.name',
    visible: kept,
    named: kept,
  },
  segment: { path: '/v1/my/segments', roles: everyone, table: 'segments', title: 't.name', named: 'true' },
  suppression: {
    path: '/v1/my/suppressions',
    roles: everyone,
    table: 'suppressions',
    ofAccount: true,
    shared: 'true',
    title: 'coalesce(t.email, t.phone)',
    status: `case when ${endedSql('t')} then 'ended' else 'active' end`,
  },
  conversation: {
    path: '/v1/my/conversations',
    roles: everyone,
    table: 'conversations',
    title: 't.subject',
    status: 't.status',
    hasMail: 'true',
  },
  import: {
    path: '/v1/my/imports',
    roles: everyone,
    table: 'imports',
    shared: ofSuppressions,
    title: 't.filename',
    status: 't.status',
  },
  export: {
    path: '/v1/my/exports',
    roles: everyone,
    table: 'exports',
    shared: ofSuppressions,
    title: 't.resource',
    status: 't.status',
  },
  validation_operation: {
    path: '/v1/my/validation_operations',
    roles: everyone,
    table: 'validation_operations',
    title: 'null',
    status: 't.status',
  },
  bulk_action: {
    path: '/v1/my/contacts/bulk_actions',
    roles: everyone,
    table: 'bulk_actions',
    title: 't.action',
    status: 't.status',
  },
  webhook: {
    path: '/v1/my/webhooks',
    roles: webhookRoles,
    table: 'webhooks',
    title: 't.url',
    status: `case when t.enabled then 'enabled' else 'disabled' end`,
  },
  domain: { path: '/v1/my/domains', roles: everyone, table: 'domains', title: 't.name', status: 't.status' },
};
