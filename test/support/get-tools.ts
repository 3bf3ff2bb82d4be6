/** A program: gets the tests' tools ahead of them, for CI to do beside other things. */
import { getTools } from './tools.ts';

await getTools();
