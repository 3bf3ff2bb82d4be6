import { call } from '../api/client.ts';
import { useAction, type Action } from './action.ts';

type Request = Parameters<typeof call>[0];

function save(blob: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

/**
 * Saves a file of the API. A plain link cannot, because the request names the account and brand of the tab in headers.
 * @param name of the file on the user's disk
 * @param request must have `parseAs: 'blob'`
 */
export function useDownload(name: string, request: Request): Action<void, void> {
  return useAction<void, void>({
    async work() {
      const file = await call(request);
      if (!(file instanceof Blob)) throw new Error('The response is not a file.');
      save(file, name);
    },
    refresh: [],
  });
}
