# Build: everything, development dependencies too; no install script is needed for it. What comes of it is JavaScript and no
# machine code, so one build on the builder's own platform serves all platforms.
FROM --platform=$BUILDPLATFORM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY build build
COPY src src
COPY workers workers
# Of the sources, as `endpointd version` tells it: what is built from has no .git.
ARG COMMIT=
RUN npm run prepack && echo "$COMMIT" > dist/commit
# What runs needs neither the compiler nor the type declarations and source maps of its libraries (35 MB), nor their
# native parts, which it never loads (some are for other runtimes).
RUN npm prune --omit=dev --omit=optional --ignore-scripts \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.bare' \) -delete

# Run: Node and nothing else, no shell. Nothing is written to disk, so the root may be read-only.
FROM gcr.io/distroless/nodejs26-debian13:nonroot
WORKDIR /app
COPY LICENSE package.json ./
COPY bin bin
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# As a number, so that runAsNonRoot can be checked.
USER 65532:65532
EXPOSE 10267
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=4", "--heap-growing-percent=100", "--initial-old-space-size=96", "--disable-sigusr1", "/app/bin/endpointd.js"]
CMD ["run"]
