import {module}

pool = {module}.{pool}(4, lambda item: item * item, capacity=8)
for number in range(20):
    pool.{submit}(number)
pool.{drain}()
pool.{close}()
print(sorted(pool.{results}))
