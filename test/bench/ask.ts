import type { Stage } from './stage.ts';

/**
 * Sends a request to a stage's API.
 * @throws Error with the response unless it is a success
 */
export async function ask<T>(stage: Stage, method: string, path: string, body?: object): Promise<T> {
  const response = await fetch(`http://127.0.0.1:${stage.apiPort}/v1/my${path}`, {
    method,
    headers: { Authorization: `Bearer ${stage.apiKey}`, 'Content-Type': 'application/json' },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}
