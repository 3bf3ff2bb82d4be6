import { Client, Connection } from '@temporalio/client';
import {
  webhookQueries,
  type WebhookRecoveryState,
  webhookWorkflowId,
} from '../../../workflows/webhooks/contract.ts';
import type { CrashStage } from './stage.ts';

/**
 * How many attempts the recovery workflow of the stage's webhook has made in its present run.
 * @throws Error where the engine knows of no such workflow, or is away
 */
export async function attemptsByWorkflow({ engine, webhookId }: CrashStage): Promise<number> {
  const connection = await Connection.connect({ address: engine.address, connectTimeout: 2_000 });
  try {
    const { workflow } = new Client({ connection });
    const recovery = workflow.getHandle(webhookWorkflowId(webhookId));
    const state = await recovery.query<WebhookRecoveryState>(webhookQueries.state);
    return state.attempted;
  } finally {
    await connection.close();
  }
}
