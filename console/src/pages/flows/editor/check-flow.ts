/** Asks the API what an activation would refuse. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call } from '../../../api/client.ts';
import { ApiError } from '../../../api/errors.ts';
import { useMemo } from 'react';
import { useSettled } from '../../../ui/settled.ts';
import { requestOf } from './content.ts';
import type { FlowContent } from './model.ts';
import { sortProblems, worded, type FlowProblems, type Problem } from './problems.ts';
import { unfinishedOf } from './unfinished.ts';

const NONE: FlowProblems = { steps: {}, trigger: {}, others: [] };

/**
 * Checks the flow as it is in the editor, a moment after the last change. While filters in it are not finished, what was
 * found before stays.
 */
export function useFlowProblems(flowId: number, content: FlowContent): FlowProblems {
  const checked = useSettled(content);
  const unfinished = useMemo(() => unfinishedOf(checked), [checked]);
  const { data = NONE } = useQuery({
    queryKey: ['flows', flowId, 'check', checked],
    enabled: unfinished === null,
    gcTime: 0,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => sortProblems(checked, await checkFlow(flowId, checked, signal)),
  });
  return unfinished ? { ...data, steps: { ...data.steps, ...unfinished } } : data;
}

/** Asks what an activation would refuse. */
export async function checkFlow(
  flowId: number,
  content: FlowContent,
  signal: AbortSignal,
): Promise<Problem[]> {
  const problems = await call(() =>
    api.POST('/v1/my/flows/check', { body: { flow_id: flowId, ...requestOf(content) }, signal }),
  ).then((check) => check.problems, refusedFields);
  return worded(content, problems);
}

/** What the API refuses of a form that is no flow. @throws any other failure */
function refusedFields(error: unknown): Problem[] {
  if (!(error instanceof ApiError) || Object.keys(error.fields).length === 0) throw error;
  return Object.entries(error.fields).flatMap(([field, texts]) =>
    texts.map((message) => ({ field, message })),
  );
}
