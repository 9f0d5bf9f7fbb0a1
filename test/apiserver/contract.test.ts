import { createApiServer } from '../../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { serveApi } from '../../src/node/apiserver-http.ts';
import { apiServerContract, apiServerWithoutWatchList } from '../suites/apiserver.ts';
import type { ApiServerUnderTest } from '../suites/apiserver-client.ts';

async function start(watchList: boolean): Promise<ApiServerUnderTest> {
  const prng = createPrng(1);
  const api = createApiServer({ random: () => nextFloat(prng), startWallMs: Date.now(), watchList });
  const http = await serveApi(api, { token: 'secret' });
  return { url: http.url, token: 'secret', stop: () => http.close() };
}

apiServerContract('embedded', true, () => start(true));
apiServerWithoutWatchList('embedded', () => start(false));
