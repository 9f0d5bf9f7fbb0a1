import { createApiServer } from '../../src/apiserver/server.ts';
import { createPrng, nextFloat } from '../../src/lib/prng.ts';
import { serveApi } from '../../src/node/apiserver-http.ts';
import { apiServerContract } from '../suites/apiserver.ts';

apiServerContract('embedded', true, async () => {
  const prng = createPrng(1);
  const api = createApiServer({ random: () => nextFloat(prng), startWallMs: Date.now() });
  const http = await serveApi(api, { token: 'secret' });
  return { url: http.url, token: 'secret', stop: () => http.close() };
});
