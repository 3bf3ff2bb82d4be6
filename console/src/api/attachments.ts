/** Files for messages, which are uploaded before the message that names them is sent. */
import { api, call, type Schemas } from './client.ts';

function headersOf(exchange: XMLHttpRequest): Headers {
  const headers = new Headers();
  for (const line of exchange.getAllResponseHeaders().split('\r\n').filter(Boolean)) {
    const colon = line.indexOf(':');
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  return headers;
}

/** Sends a form as `fetch` does, and reports how much of it has left, which `fetch` cannot. */
const sendReporting =
  (form: FormData, onProgress: (part: number) => void) =>
  (request: Request): Promise<Response> =>
    new Promise((resolve, reject) => {
      const exchange = new XMLHttpRequest();
      exchange.open(request.method, request.url);
      for (const [name, value] of request.headers) {
        // The browser writes the boundary of the form that it sends.
        if (name !== 'content-type') exchange.setRequestHeader(name, value);
      }
      exchange.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
      exchange.onload = () =>
        resolve(
          new Response(exchange.responseText, { status: exchange.status, headers: headersOf(exchange) }),
        );
      exchange.onerror = () => reject(new TypeError('the connection failed'));
      exchange.onabort = () => reject(new DOMException('the upload was stopped', 'AbortError'));
      request.signal.addEventListener('abort', () => exchange.abort());
      exchange.send(form);
    });

/**
 * Uploads a file for messages of the brand.
 * @param options.key the Idempotency-Key
 * @param options.onProgress gets the sent part, from 0 to 1
 * @throws ApiError; DOMException AbortError if `options.signal` aborts
 */
export const uploadAttachment = (
  file: File,
  options: { key: string; signal: AbortSignal; onProgress: (part: number) => void },
): Promise<Schemas['Attachment']> => {
  const form = new FormData();
  form.set('file', file);
  return call(() =>
    api.POST('/v1/my/attachments', {
      body: { file: file.name },
      params: { header: { 'Idempotency-Key': options.key } },
      bodySerializer: () => form,
      fetch: sendReporting(form, options.onProgress),
      signal: options.signal,
    }),
  );
};

/** Removes an uploaded file. Messages that have named it keep it. @throws ApiError */
export const removeAttachment = (id: number): Promise<Schemas['Attachment']> =>
  call(() => api.DELETE('/v1/my/attachments/{id}', { params: { path: { id } } }));
