/** The webhooks room, as other rooms and processes see it. */
export { WEBHOOK_USER_AGENT } from './attempt.ts';
export { createWebhookDeliveries } from './deliveries/deliveries.ts';
export { emailEventData } from './email-event-data.ts';
export { publishEvents, type PublishedEvent } from './publish.ts';
export { releaseWebhookClaims } from './claim.ts';
export { findOrphanedHistories, removeHistory } from './history.ts';
export { createWebhookLoop, type WebhookLoop } from './loop.ts';
export { createWebhookManager, type WebhookManager } from './manage.ts';
export { createWebhookRecovery, type RecoveryProgress } from './recovery.ts';
export { webhookSource } from './source.ts';
