/** A reporter that ends the process at the first test that fails; its file and name are the only output. */
import { writeSync } from 'node:fs';
import { relative } from 'node:path';
import type { TestEvent } from 'node:test/reporters';

// oxlint-disable-next-line import/no-default-export -- the test runner takes a reporter from a default export alone
export default async function* firstFailure(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:fail' || event.data.todo !== undefined) continue;
    const { file, name } = event.data;
    writeSync(1, file === undefined ? name : `${relative('.', file)}: ${name}`);
    process.exit(1);
  }
  yield '';
}
