import { useQuery } from '@tanstack/react-query';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { ownPath } from '../../api/uploads.ts';
import { useAction } from '../../ui/action.ts';
import { EmptyState } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Time } from '../../ui/details.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { Notice } from '../../ui/notice.tsx';
import { bytesText } from '../../ui/numbers.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { faultsOfUpload, UploadButton, useUpload } from '../../ui/upload-button.tsx';

type Upload = Schemas['Upload'];

const isImage = ({ content_type: type }: Upload) => type.startsWith('image/');

const columns: readonly TableColumn<Upload>[] = [
  {
    key: 'thumb',
    header: 'Image',
    width: '7rem',
    cell: (file) =>
      isImage(file) && (
        <img src={ownPath(file.url) ?? undefined} alt="" className="thumb small" loading="lazy" />
      ),
  },
  {
    key: 'name',
    header: 'Name',
    cell: ({ url, filename }) => (
      <a href={ownPath(url) ?? url} target="_blank" rel="noreferrer">
        {filename}
      </a>
    ),
  },
  { key: 'size', header: 'Size', align: 'right', cell: ({ size }) => bytesText(size) },
  { key: 'type', header: 'Type', cell: ({ content_type: type }) => type, wideOnly: true },
  {
    key: 'kept',
    header: 'Kept',
    cell: ({ kept }) => (kept ? 'Until deleted' : '30 days, or while in use'),
    wideOnly: true,
  },
  { key: 'created', header: 'Uploaded', cell: ({ created_at: at }) => <Time at={at} /> },
  { key: 'delete', header: '', align: 'right', cell: (file) => <DeleteFile file={file} /> },
];

/** The files of the brand, and how much of the account's quota they use. */
export function FilesPage() {
  const list = useListSearch([]);
  const query = useQuery({
    queryKey: ['uploads', 'list', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/uploads', { params: { query: list.query }, signal })),
  });
  const upload = useUpload(() => undefined);
  return (
    <>
      <PageHeader title="Files" actions={<UploadButton action={upload} />}>
        <Usage />
      </PageHeader>
      {faultsOfUpload(upload).map((text) => (
        <Notice key={text} tone="bad">
          {text}
        </Notice>
      ))}
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Files"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            empty={<NoFiles />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

function Usage() {
  const { data } = useQuery({
    queryKey: ['uploads', 'usage'],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/uploads/usage', { signal })),
  });
  if (!data) return null;
  const { used_bytes: used, quota_bytes: quota } = data;
  return (
    <p className="muted">
      <meter value={used} max={quota} aria-label="Used part of the quota" /> {bytesText(used)} of{' '}
      {bytesText(quota)} used by all brands of the account
    </p>
  );
}

function DeleteFile({ file }: { file: Upload }) {
  const remove = useAction({
    work: () =>
      call(() =>
        api.DELETE('/v1/my/uploads/{signed_id}', { params: { path: { signed_id: file.signed_id } } }),
      ),
    done: 'File deleted.',
    refresh: ['uploads'],
  });
  return (
    <ConfirmButton
      label="Delete"
      title={`Delete ${file.filename}?`}
      busy={remove.busy}
      onConfirm={() => remove.run()}
    >
      <p>
        Its address stops working at once. Letters that show the file then have a gap, even those that were
        sent long ago. This cannot be undone.
      </p>
    </ConfirmButton>
  );
}

function NoFiles() {
  return (
    <EmptyState title="No files yet">
      <p>Logos and the images that you upload for letters appear here. A file can have at most 5 MB.</p>
    </EmptyState>
  );
}
