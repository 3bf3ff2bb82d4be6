import { call } from '../api/client.ts';
import { useAction, type Action } from './action.ts';
import { saveFile } from './save-file.ts';

type Request = Parameters<typeof call>[0];

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
      saveFile(file, name);
    },
    refresh: [],
  });
}
