import { webhookSource } from '../webhooks/service.ts';
import type { WorkflowSource } from './source.ts';

/** Every kind of row that needs a workflow; a room adds one line. */
export const workflowSources: WorkflowSource[] = [webhookSource];
