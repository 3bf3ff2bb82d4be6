import { rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import pg from 'pg';
import { upkeep } from '../../src/features/upkeep.ts';
import { createGuard, type Guard } from '../../src/local/machine/guard.ts';
import { startPostgres } from '../../src/local/postgres/server.ts';
import { migrate } from '../../src/platform/db/migrate.ts';
import { createClones } from './database-clones.ts';
import { createFastFolder } from './open-folder.ts';

/** The servers of one run of Jest. Each starts when the first test file asks for it. */
export interface TestServices {
  /**
   * The URL for requests of test files: `GET /database` returns a {@link DatabaseService} of their own, and `GET
   * /database?argument=<name>` drops it.
   */
  readonly address: string;
  stop(): Promise<void>;
}

/** A database that belongs to the test file that asked for it. */
export interface DatabaseService {
  name: string;
  url: string;
}

/** Data of a stopped PostgreSQL server with a migrated database named `postgres`, to be copied. */
export interface DatabaseFolderService {
  /** The folder that was given to `startPostgres`. */
  folder: string;
}

type Stop = () => Promise<void>;

interface Started {
  /** What each test file gets, or a function to call with the argument of its request. */
  answer: object | ((argument: string | null) => Promise<object>);
  stop: Stop;
}

/** Starts a server. Called when the first test file of a run asks for it, and again if that failed. */
export type Service = (guard: Guard, folder: string) => Promise<Started>;

const TEMPLATE = 'carillon_template';

const startDatabase: Service = async (guard, folder) => {
  const server = await startPostgres({
    folder: join(folder, 'postgres'),
    port: 0,
    guard,
    durable: false,
    sharedBuffersMb: 64,
  });
  const admin = new pg.Client({ connectionString: server.url() });
  await admin.connect();
  await admin.query(`create database ${TEMPLATE}`);
  await admin.end();
  await migrate(server.url(TEMPLATE), upkeep.partitions);
  const clones = await createClones(server.url(), TEMPLATE);
  return {
    async answer(dropped) {
      if (dropped !== null) {
        await clones.drop(dropped);
        return {};
      }
      const name = await clones.take();
      return { name, url: server.url(name) } satisfies DatabaseService;
    },
    async stop() {
      await clones.close();
      await server.stop();
    },
  };
};

/** Servers that a test kills have their own data. Copying it takes a tenth of the time of creating it. */
const createDatabaseFolder: Service = async (guard, parent) => {
  const folder = join(parent, 'migrated');
  const server = await startPostgres({ folder, port: 0, guard, durable: false });
  await migrate(server.url(), upkeep.partitions);
  await server.stop();
  const answer: DatabaseFolderService = { folder };
  return { answer, stop: () => Promise.resolve() };
};

function listen(server: Server): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`);
    });
  });
}

async function reply(
  response: ServerResponse,
  service: Promise<Started> | undefined,
  argument: string | null,
): Promise<void> {
  try {
    const answer = service ? (await service).answer : null;
    response.end(JSON.stringify(typeof answer === 'function' ? await answer(argument) : answer));
  } catch (error) {
    response.statusCode = 500;
    response.end((error as Error).message);
  }
}

/** Starts the HTTP server that test files ask for services. */
export async function startTestServices(others: Record<string, Service> = {}): Promise<TestServices> {
  const guard = createGuard();
  const folder = createFastFolder('carillon-test-');
  const starts: Record<string, Service> = {
    database: startDatabase,
    'database-folder': createDatabaseFolder,
    ...others,
  };
  const started = new Map<string, ReturnType<Service>>();

  const ask = (name: string) => {
    const start = starts[name];
    if (start && !started.has(name)) {
      const service = start(guard, folder);
      started.set(name, service);
      // The next file that asks may be luckier than this one.
      service.catch(() => started.delete(name));
    }
    return started.get(name);
  };
  const server = createServer((request: IncomingMessage, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://services');
    void reply(response, ask(pathname.slice(1)), searchParams.get('argument'));
  });
  const address = await listen(server);
  return {
    address,
    async stop() {
      server.close();
      server.closeAllConnections();
      const all = await Promise.allSettled(started.values());
      await Promise.all(all.flatMap((one) => (one.status === 'fulfilled' ? [one.value.stop()] : [])));
      await guard.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

let running: TestServices | undefined;

/** Stores the services for the global teardown, which Jest runs as another module of the same process. */
export function keepForTeardown(services: TestServices): void {
  running = services;
}

/** Stops the services that the global setup started. */
export async function stopTestServices(): Promise<void> {
  await running?.stop();
  running = undefined;
}
