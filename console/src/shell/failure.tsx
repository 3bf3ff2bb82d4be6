import type { ErrorComponentProps } from '@tanstack/react-router';
import { ApiError, messageOf } from '../api/errors.ts';
import { Button } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';

/** Shown instead of a page that could not be loaded. */
export function Failure({ error, reset }: ErrorComponentProps) {
  const requestId = error instanceof ApiError ? error.requestId : null;
  return (
    <Notice tone="bad" title="This page could not be loaded">
      <p>{messageOf(error)}</p>
      {requestId !== null && <p className="muted">Request {requestId}</p>}
      <Button onClick={reset}>Try again</Button>
    </Notice>
  );
}
