import { Client, Connection } from '@temporalio/client';
import {
  webhookQueries,
  type WebhookRecoveryState,
  webhookWorkflowId,
} from '../../../workflows/webhooks/contract.ts';
import type { CrashStage } from './stage.ts';

/**
 * Whether the recovery workflow of the stage's webhook attempts anything, or did in its present run. Its count of attempts is
 * that of activities that ended, and one goes on for as long as something is due.
 * @throws Error where the engine knows of no such workflow, or is away
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
