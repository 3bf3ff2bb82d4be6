/** Files of the brand, such as its logo and the images of letters. */
import { api, call, type Schemas } from './client.ts';

/** The types that browsers and mail programs display. */
export const IMAGE_TYPES = 'image/png,image/jpeg,image/gif,image/webp';

/**
 * Stores a file. Its URL needs no credentials.
 * @param keep for letters, which show it as long as they are read. Others are removed if they are not in use.
 * @throws ApiError
 */
export const upload = (file: File, keep: boolean): Promise<Schemas['Upload']> =>
  call(() =>
    api.POST('/v1/my/uploads', {
      body: { file: file.name, keep: keep ? 'true' : 'false' },
      bodySerializer() {
        const form = new FormData();
        form.set('keep', String(keep));
        form.set('file', file);
        return form;
      },
    }),
  );

/** Returns the path of a file of this service, and null for all others: the policy of the page loads no others. */
export function ownPath(url: string): string | null {
  const path = URL.parse(url)?.pathname ?? '';
  return path.startsWith('/uploads/') ? path : null;
}
