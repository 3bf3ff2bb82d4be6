import { useQuery } from '@tanstack/react-query';
import { useListChoices } from '../../api/audience.ts';
import { labelOf } from '../../api/choices.ts';
import { api, call, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { isUnfinished } from '../../api/work.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { useDownload } from '../../ui/download.ts';
import { Card, countText, DetailList, Progress, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useId } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { WorkflowLink } from '../../ui/temporal-link.tsx';
import { ColumnsRead } from './columns-read.tsx';
import { encodingText } from './encoding-text.ts';

type Import = Schemas['Import'];

export function ImportPage() {
  const id = useId('importId');
  const query = useQuery({
    queryKey: ['imports', id],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/imports/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (isUnfinished(state.data) ? POLL_MS : false),
  });
  return (
    <QueryView query={query}>
      {(run) => (
        <>
          <PageHeader title={run.filename || `Import ${id}`} actions={<Actions run={run} />}>
            <StatusBadge status={run.status} />
          </PageHeader>
          <State run={run} />
          <FailedRows run={run} />
          <Columns run={run} />
          <Warnings run={run} />
          <Options run={run} />
        </>
      )}
    </QueryView>
  );
}

function Actions({ run }: { run: Import }) {
  const path = { id: run.id };
  const cancel = useAction({
    work: () => call(() => api.POST('/v1/my/imports/{id}/cancel', { params: { path } })),
    done: 'Import canceled. Rows already imported stay.',
    refresh: ['imports'],
  });
  return (
    <>
      {isUnfinished(run) && (
        <ConfirmButton
          label="Cancel"
          title="Cancel this import?"
          confirm="Cancel the import"
          busy={cancel.busy}
          onConfirm={() => cancel.run()}
        >
          <p>Rows already imported stay. The others are not read.</p>
        </ConfirmButton>
      )}
      <BrandLink to="/imports/new" className="button">
        Import a file
      </BrandLink>
      <WorkflowLink id={`import/${run.id}`} />
    </>
  );
}

function State({ run }: { run: Import }) {
  const { status, total_rows: total, options } = run;
  const counts = [
    ['Created', run.created_count],
    ['Updated', run.updated_count],
    ['Unchanged', run.unchanged_count],
    ['Duplicate', run.duplicate_count],
    ['Failed', run.failed_count],
    ...(run.warning_count > 0 ? ([['Without some cells', run.warning_count]] as const) : []),
  ] as const;
  return (
    <Card title="Progress">
      {options.dry_run && <Notice>This only counts what an import would do. Nothing is changed.</Notice>}
      {status === 'queued' && <p>The import begins when fewer than two others of the account run.</p>}
      {status === 'processing' && total === null && <p>The rows are being counted.</p>}
      {total !== null && <Progress done={run.processed_rows} total={total} label="Rows done" />}
      {isUnfinished(run) && <p className="muted">You may close this tab: the import goes on.</p>}
      <div className="figures">
        {counts.map(([name, count]) => (
          <div key={name} className="figure">
            <strong>{countText(count)}</strong> {name}
          </div>
        ))}
      </div>
    </Card>
  );
}

type RowError = Import['errors'][number] & { index: number };

const errorColumns: readonly TableColumn<RowError>[] = [
  { key: 'row', header: 'Row', align: 'right', cell: ({ row }) => row ?? 'File', width: '5rem' },
  { key: 'column', header: 'Column', cell: ({ column }) => column ?? '–', width: '12rem' },
  { key: 'message', header: 'What is wrong', cell: ({ message }) => message },
];

function FailedRows({ run }: { run: Import }) {
  const path = { id: run.id };
  const download = useDownload(`import-${run.id}-failed-rows.csv`, () =>
    api.GET('/v1/my/imports/{id}/errors', { params: { path }, parseAs: 'blob' }),
  );
  if (run.errors.length === 0 && run.warnings.length === 0) return null;
  return (
    <Card
      title={titleOfErrors(run)}
      actions={
        run.errors_url !== null && (
          <Button busy={download.busy} onClick={() => download.run()}>
            Download the failed rows
          </Button>
        )
      }
    >
      {run.errors_url !== null && (
        <p className="muted">
          The file has the failed rows with the reason. Correct it and import it: rows that were imported do
          not count again. It is kept for 30 days.
        </p>
      )}
      {run.errors.length > 0 && (
        <DataTable
          label="Errors"
          rows={run.errors.map((error, index) => ({ ...error, index }))}
          columns={errorColumns}
          rowKey={({ index }) => index}
        />
      )}
    </Card>
  );
}

const titleOfErrors = ({ failed_count: failed, errors }: Import): string => {
  if (errors.length === 0) return 'Rows to correct';
  return failed > errors.length ? `The first ${errors.length} errors` : 'Errors';
};

/** The cells that could not be read, and without which their rows were imported. */
function Warnings({ run: { warnings } }: { run: Import }) {
  if (warnings.length === 0) return null;
  return (
    <Card title="Cells that were left out">
      <p className="muted">
        Their rows were imported without them. The file of failed rows has these rows, too: correct and import
        it to add what is missing.
      </p>
      <DataTable
        label="Cells that were left out"
        rows={warnings.map((warning, index) => ({ ...warning, index }))}
        columns={errorColumns}
        rowKey={({ index }) => index}
      />
    </Card>
  );
}

function Columns({ run: { columns } }: { run: Import }) {
  if (columns === null || columns.length === 0) return null;
  return (
    <Card title="Columns">
      <p className="muted">
        If a column was misread, import the file again and choose its meaning: those who said no are then
        unsubscribed.
      </p>
      <ColumnsRead columns={columns} />
    </Card>
  );
}

const textOf = (to: Import['options']['mapping'][string]) => {
  if (to === null) return 'ignored';
  return typeof to === 'string' ? to : `${to.field}${to.invert === true ? ', inverted' : ''}`;
};

function Options({ run: { resource, options, ...run } }: { run: Import }) {
  const lists = useListChoices();
  const nameOf = (id: number) => labelOf(lists, id, `List ${id}`);
  const mapped = Object.entries(options.mapping).map(([name, field]) => `${name}: ${textOf(field)}`);
  const yesNo = (value: boolean) => (value ? 'yes' : 'no');
  return (
    <Card title="How it was imported">
      <DetailList
        items={[
          ['Rows are', resource],
          ['Encoding', encodingText(run)],
          ['Columns', mapped.length > 0 ? mapped.join(', ') : 'recognized by their names'],
          ...(resource === 'contacts'
            ? ([
                ['Lists', options.list_ids.map(nameOf).join(', ')],
                ['Change existing contacts', yesNo(options.update_existing)],
                ['Subscribe new contacts', yesNo(options.subscribe)],
                ['Everyone in the file', options.status?.replaceAll('_', ' ') ?? 'as the columns say'],
              ] as const)
            : []),
          ['Created', <Time key="created" at={run.created_at} full />],
          ['Started', <Time key="started" at={run.started_at} full />],
          ['Finished', <Time key="finished" at={run.finished_at} full />],
        ]}
      />
    </Card>
  );
}
