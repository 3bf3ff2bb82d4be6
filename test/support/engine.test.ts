// The shared test engine gives each caller its own namespace with the search attributes.
import { describe, expect, it } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { useEngine } from './engine.ts';

describe('the shared engine', () => {
  it('gives each caller its own namespace with the search attributes', async () => {
    const [first, second] = await Promise.all([useEngine(), useEngine()]);
    expect(first.address).toBe(second.address);
    expect(first.namespace).not.toBe(second.namespace);
    const connection = await Connection.connect({ address: first.address });
    const { customAttributes } = await connection.operatorService.listSearchAttributes({
      namespace: first.namespace,
    });
    await connection.close();
    expect(Object.keys(customAttributes)).toEqual(expect.arrayContaining(['AccountId', 'WebhookId']));
  });
});
