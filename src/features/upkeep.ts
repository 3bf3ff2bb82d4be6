import { deliveryUpkeep } from '../delivery/ledger/upkeep/upkeep.ts';
import {
  dailyPartitions,
  deadProcesses,
  idempotencyKeys,
  rateLimitBuckets,
} from '../platform/housekeeping/tasks.ts';
import { gatherUpkeep } from '../platform/housekeeping/upkeep.ts';
import { storedKeysColumn } from '../platform/secrets/stored-keys.ts';
import { attachmentsUpkeep } from './attachments/upkeep.ts';
import { auditUpkeep } from './audit/upkeep.ts';
import { brakesUpkeep } from './brakes/upkeep.ts';
import { brandsUpkeep } from './brands/upkeep.ts';
import { bulkActionsUpkeep } from './bulk-actions/upkeep.ts';
import { campaignsUpkeep } from './campaigns/upkeep.ts';
import { flowsUpkeep } from './flows/upkeep.ts';
import { domainsUpkeep } from './domains/upkeep.ts';
import { contactEventsUpkeep } from './contact-events/upkeep.ts';
import { callbacksUpkeep } from './callbacks/upkeep.ts';
import { inboxUpkeep } from './inbox/upkeep.ts';
import { listsUpkeep } from './lists/upkeep.ts';
import { exportsUpkeep } from './exports/upkeep.ts';
import { importsUpkeep } from './imports/upkeep.ts';
import { mcpUpkeep } from './mcp/upkeep.ts';
import { messagesUpkeep } from './messages/upkeep.ts';
import { oauthUpkeep } from './oauth/upkeep.ts';
import { previewsUpkeep } from './previews/upkeep.ts';
import { smsUpkeep } from './sms/upkeep.ts';
import { statsUpkeep } from './stats/upkeep.ts';
import { submissionUpkeep } from './submission/upkeep.ts';
import { suppressionsUpkeep } from './suppressions/upkeep.ts';
import { templatesUpkeep } from './templates/upkeep.ts';
import { trackingUpkeep } from './tracking/upkeep.ts';
import { uploadsUpkeep } from './uploads/upkeep.ts';
import { secondFactorUpkeep } from './second-factor/upkeep.ts';
import { sessionsUpkeep } from './sessions/upkeep.ts';
import { invitationsUpkeep } from './invitations/upkeep.ts';
import { usersUpkeep } from './users/upkeep.ts';
import { walletUpkeep } from './wallet/upkeep.ts';
import { validationUpkeep } from './validation/upkeep.ts';
import { webhooksUpkeep } from './webhooks/upkeep.ts';

/**
 * The upkeep of all tables: one line per feature, and the platform's own tasks. The hourly tasks run in this order.
 * Roles and the `migrate` command pass it down.
 */
export const upkeep = gatherUpkeep([
  { tasks: [idempotencyKeys, rateLimitBuckets], sealed: [storedKeysColumn] },
  deliveryUpkeep,
  brakesUpkeep,
  brandsUpkeep,
  messagesUpkeep,
  { tasks: [deadProcesses] },
  webhooksUpkeep,
  domainsUpkeep,
  campaignsUpkeep,
  flowsUpkeep,
  trackingUpkeep,
  uploadsUpkeep,
  attachmentsUpkeep,
  submissionUpkeep,
  exportsUpkeep,
  importsUpkeep,
  bulkActionsUpkeep,
  validationUpkeep,
  callbacksUpkeep,
  smsUpkeep,
  statsUpkeep,
  suppressionsUpkeep,
  contactEventsUpkeep,
  inboxUpkeep,
  listsUpkeep,
  templatesUpkeep,
  previewsUpkeep,
  walletUpkeep,
  sessionsUpkeep,
  secondFactorUpkeep,
  usersUpkeep,
  oauthUpkeep,
  invitationsUpkeep,
  auditUpkeep,
  mcpUpkeep,
  { tasks: [dailyPartitions] },
]);
