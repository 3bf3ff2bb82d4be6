import { Client, Connection } from '@temporalio/client';
import {
  webhookQueries,
  type WebhookRecoveryState,
  webhookWorkflowId,
} from '../../../workflows/webhooks/contract.ts';
import type { CrashStage } from './stage.ts';

/**
 * Whether the recovery workflow of the stage's webhook attempts deliveries, or has done so in its current run. The
 * workflow counts the attempts of finished activities only, and an activity runs as long as deliveries are due.
 * @throws Error if the engine has no such workflow, or is down
 */
export async function isRecovering({ engine, webhookId }: CrashStage): Promise<boolean> {
  const connection = await Connection.connect({ address: engine.address, connectTimeout: 2_000 });
  try {
    const { workflow } = new Client({ connection });
    const recovery = workflow.getHandle(webhookWorkflowId(webhookId));
    const state = await recovery.query<WebhookRecoveryState>(webhookQueries.state);
    return state.phase === 'delivering' || state.attempted > 0;
  } finally {
    await connection.close();
  }
}
